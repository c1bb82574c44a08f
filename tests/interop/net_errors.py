# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Vireo Authors
"""Wrong paths, wrong devargs and peers that are no vhost server: a clear error, in time.

Stock testpmd goes on without the port; the test looks at what the driver said and at how long
it took.
"""

import os
import re
import socket
import struct
import threading
import time

import harness as h

BOUND_S = 15.0
GET_FEATURES = 1
GET_PROTOCOL_FEATURES = 15
REPLY_FLAGS = 1 | 4
VHOST_HEADER = struct.Struct("<III")


class FakePeer:
    """A UNIX server that accepts, and then does what `serve(connection)` says."""

    def __init__(self, serve):
        self.path = h.new_socket()
        self.serve = serve
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(self.path)
        self.listener.listen(4)
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                connection = self.listener.accept()[0]
            except OSError:
                return
            threading.Thread(target=self._run, args=(connection,), daemon=True).start()

    def _run(self, connection):
        try:
            with connection:
                self.serve(connection)
        except OSError:
            pass  # the driver hung up, as it should

    def close(self):
        self.listener.close()


def read_request(connection):
    """Return the next message's number, or None at the end."""
    header = b""
    while len(header) < VHOST_HEADER.size:
        data = connection.recv(VHOST_HEADER.size - len(header))
        if not data:
            return None
        header += data
    request, _flags, size = VHOST_HEADER.unpack(header)
    while size > 0:
        size -= len(connection.recv(size))
    return request


def reply_u64(connection, request, value):
    connection.sendall(VHOST_HEADER.pack(request, REPLY_FLAGS, 8) + struct.pack("<Q", value))


def answer_features(features):
    def serve(connection):
        while True:
            request = read_request(connection)
            if request is None:
                return
            if request == GET_FEATURES:
                reply_u64(connection, request, features)
            elif request == GET_PROTOCOL_FEATURES:
                reply_u64(connection, request, 0)
    return serve


def answer_garbage(connection):
    connection.recv(64)
    connection.sendall(bytes(range(7, 7 + 200)))
    time.sleep(BOUND_S)


def answer_http(connection):
    connection.recv(64)
    connection.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")


def close_at_once(_connection):
    pass


def close_in_reply(connection):
    while True:
        request = read_request(connection)
        if request is None:
            return
        if request == GET_FEATURES:
            connection.sendall(VHOST_HEADER.pack(request, REPLY_FLAGS, 8) + b"\1\2")
            return


def wrong_reply_size(connection):
    while True:
        request = read_request(connection)
        if request is None:
            return
        if request == GET_FEATURES:
            connection.sendall(VHOST_HEADER.pack(request, REPLY_FLAGS, 0x7FFFFFFF))
            time.sleep(BOUND_S)


def wrong_reply_number(connection):
    while True:
        request = read_request(connection)
        if request is None:
            return
        if request == GET_FEATURES:
            reply_u64(connection, 33, 1 << 32)


def stay_silent(_connection):
    time.sleep(2 * BOUND_S)


def probe(vdev, patterns):
    """Start testpmd with a port that cannot work; each pattern must be in what it says."""
    begin = time.monotonic()
    end = h.Testpmd("driver", [vdev], ["--rxd=256", "--txd=256"], nb_mbufs=4096, ready=False)
    try:
        end.wait_text(r"testpmd> |probe failed|No probed ethernet devices|Cannot create", BOUND_S)
    finally:
        needed_s = time.monotonic() - begin
    end.wait_text(r"testpmd> |EAL: Error|Cause:", 5)
    h.expect("testpmd>" not in end.text or "net_v" not in end.cmd("show port summary all"),
             "the port came up")
    ours = [line for line in end.text.splitlines()
            if re.search(r"(?i)vireo|vhost|virtio", line) and "testpmd" not in line]
    if h.DRIVER == "net_vireo":
        for pattern in patterns:
            h.expect(any(re.search(pattern, line) for line in ours),
                     "no '%s' in the driver's messages: %s" % (pattern, " | ".join(ours)))
    if end.alive():
        end.send("quit")
    end.wait_end(5)
    return "%.1f s: %s" % (needed_s, ours[0].strip() if ours else end.complaints(1))


def check_path(path, *patterns):
    return probe(h.driver_vdev(path), patterns)


def check_peer(serve, *patterns):
    peer = FakePeer(serve)
    try:
        return probe(h.driver_vdev(peer.path), patterns)
    finally:
        peer.close()


def check_devargs(devargs, *patterns):
    vdev = h.DRIVER + "0" + ("," + devargs if devargs else "")
    return probe(vdev.replace("@", h.work_path("nobody")), patterns)


def path_cases(suite):
    missing = h.work_path("no-such-folder/socket")
    suite.run("path does not exist", check_path, missing, r"No such file", re.escape(missing))
    plain = h.work_path("plain")
    with open(plain, "w") as f:
        f.write("not a socket\n")
    suite.run("path is a plain file", check_path, plain, r"refused|no(t a)? socket",
              re.escape(plain))
    stale = h.work_path("stale")
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(stale)
    suite.run("nobody listens", check_path, stale, r"refused|listen", re.escape(stale))
    os.unlink(stale)


def peer_cases(suite):
    for title, serve, pattern in (
        ("peer answers garbage", answer_garbage, r"(?i)expected|not a vhost|malformed|unexpected"),
        ("peer speaks HTTP", answer_http, r"(?i)expected|not a vhost|malformed|unexpected"),
        ("peer closes at once", close_at_once, r"(?i)clos|reset|hung up|gone|Broken pipe"),
        ("peer closes in mid-reply", close_in_reply, r"(?i)clos|reset|hung up|gone"),
        ("reply of 2 GiB", wrong_reply_size, r"(?i)expected|size|length|bytes|large"),
        ("reply to another message", wrong_reply_number, r"(?i)expected|unexpected"),
        ("peer offers nothing", answer_features(0), r"VERSION_1|(?i:offer)"),
        ("peer never answers", stay_silent, r"(?i)time|within"),
    ):
        suite.run(title, check_peer, serve, pattern)


def devarg_cases(suite):
    for title, devargs, patterns in (
        ("no path", "", ("path",)),
        ("unknown devarg", "path=@,colour=red", ("colour", "packed_vq", "mrg_rxbuf")),
        ("indirect=sometimes", "path=@,indirect=sometimes", ("indirect", "pool", "mempool")),
        ("packed_vq=2", "path=@,packed_vq=2", ("packed_vq", "0 or 1")),
        ("mrg_rxbuf=yes", "path=@,mrg_rxbuf=yes", ("mrg_rxbuf", "0 or 1")),
        ("queues=0", "path=@,queues=0", ("queues", "128")),
        ("queues=129", "path=@,queues=129", ("queues", "128")),
        ("queue_size=0x", "path=@,queue_size=0x", ("queue_size", "32768")),
        ("queue_size=1000, split", "path=@,queue_size=1000", ("queue_size", "power")),
        ("queue_size=65536", "path=@,queue_size=65536", ("queue_size", "32768")),
        ("mac=1:2:3", "path=@,mac=1:2:3", ("mac",)),
        ("speed=fast", "path=@,speed=fast", ("speed",)),
        ("path too long", "path=/" + "x" * 120, ("path", "10[78]")),
    ):
        suite.run(title, check_devargs, devargs, *patterns)


def main():
    suite = h.Suite("net_errors")
    path_cases(suite)
    peer_cases(suite)
    if h.DRIVER == "net_vireo":
        devarg_cases(suite)
    suite.finish()


if __name__ == "__main__":
    main()
