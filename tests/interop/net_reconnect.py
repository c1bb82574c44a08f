# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Vireo Authors
"""Either side is killed in mid-traffic and started again, many times.

Traffic has to come back in time, no command may hang, and in the end the side that lived on
has all its mbufs and no more file descriptors than before.
"""

import argparse
import os
import re
import time

import harness as h

NB_MBUFS = 8192
RING = 256
BACK_S = 1.0
# For us to try again, and for rte_vhost to accept.
ACCEPT_S = 2.0
# Stock vhost as the client sleeps a second between two attempts.
BACK_VHOST_CLIENT_S = 2.5


# Factor of the bounds.
patience = 1


class Link:
    """Both ends of one path; start() starts or restarts one of them."""

    def __init__(self, we_are_server, **devargs):
        self.path = h.new_socket()
        self.we_are_server = we_are_server
        self.devargs = devargs
        self.near = self.far = None

    def start_near(self, ready=True):
        if self.we_are_server:
            self.devargs["server"] = 1
            if h.DRIVER != "net_vireo" and os.path.exists(self.path):
                os.unlink(self.path)  # we replace a socket that nobody listens on, stock does not
        self.near = h.Testpmd(
            "driver", [h.driver_vdev(self.path, queue_size=RING, **self.devargs)],
            ["--rxd=%d" % RING, "--txd=%d" % RING, "--forward-mode=io", "-a"],
            cpu_index=1, nb_mbufs=NB_MBUFS, ready=ready)

    def start_far(self, ready=True):
        if not self.we_are_server and os.path.exists(self.path):
            os.unlink(self.path)  # rte_vhost does not bind over what a killed process left
        client = 1 if self.we_are_server else None
        # flowgen sends and receives whatever the other side does.
        self.far = h.Testpmd(
            "vhost", [h.vhost_vdev(self.path, client=client)],
            ["--rxd=%d" % RING, "--txd=%d" % RING, "--forward-mode=flowgen", "-a"],
            nb_mbufs=NB_MBUFS, ready=ready)

    def start_both(self):
        if self.we_are_server:
            self.start_near(ready=False)  # stock waits here for its client
            h.wait_socket(self.path, process=self.near)
            self.start_far()
            self.near.wait_ready()
        else:
            self.start_far(ready=False)
            h.wait_socket(self.path, process=self.far)
            self.start_near()
            self.far.wait_ready()


def counts(end):
    stats = end.stats()
    return stats["RX-packets"], stats["TX-packets"]


def wait_traffic(end, bound_s, begin, what):
    """Wait until the survivor receives and sends again; return the seconds since `begin`."""
    before = counts(end)
    while True:
        now = counts(end)
        passed_s = time.monotonic() - begin
        if now[0] > before[0] and now[1] > before[1]:
            return passed_s
        h.expect(passed_s < bound_s, "%s: no traffic both ways within %.1f s: Rx +%d, Tx +%d" % (
            what, bound_s, now[0] - before[0], now[1] - before[1]))
        time.sleep(0.01)


def mbufs_at_home(end):
    """(in the pool and its caches, all) of a testpmd."""
    text = end.cmd("dump_mempool mb_pool_0")
    value = {k: int(v) for k, v in re.findall(
        r"(?m)^\s*(size|common_pool_count|total_cache_count)=(\d+)", text)}
    return value["common_pool_count"] + value["total_cache_count"], value["size"]


def check_nothing_lost(end):
    end.stop()
    end.cmd("port stop 0")
    have, size = mbufs_at_home(end)
    h.expect(have == size, "%s: %d of %d mbufs are lost after port stop" % (
        end.name, size - have, size))


def nb_fds(end):
    return len(os.listdir("/proc/%d/fd" % end.testpmd_pid()))


def check_killing(kill_near, we_are_server, times, **devargs):
    link = Link(we_are_server, **devargs)
    link.start_both()
    survivor = link.far if kill_near else link.near
    wait_traffic(survivor, 5, time.monotonic(), "first connection")
    fds_before = nb_fds(survivor)
    bound_s = patience * (BACK_VHOST_CLIENT_S if kill_near and we_are_server else BACK_S)
    slowest_s = 0
    for i in range(times):
        what = "round %d of %d" % (i + 1, times)
        time.sleep(0.1 + 0.01 * (i % 5))
        victim = link.near if kill_near else link.far
        victim.kill()
        h.wait_until(lambda: not survivor.link_up(), 2, "%s: link down at %s" % (
            what, survivor.name))
        begin = restart(link, kill_near)
        h.wait_until(survivor.link_up, max(0, begin + bound_s - time.monotonic()),
                     "%s: link up again" % what)
        slowest_s = max(slowest_s, wait_traffic(survivor, bound_s, begin, what))
    fds_after = nb_fds(survivor)
    h.expect(fds_after <= fds_before, "%s: %d file descriptors before, %d after" % (
        survivor.name, fds_before, fds_after))
    check_nothing_lost(survivor)
    for end in (link.near, link.far):
        end.quit()
    return "%d times, back within %.2f s" % (times, slowest_s)


def restart(link, near):
    """Start the killed side; return the moment from which recovery is counted."""
    if near:
        link.start_near(ready=False)
    else:
        link.start_far(ready=False)
    started = link.near if near else link.far
    if near and link.we_are_server:
        h.wait_socket(link.path, process=started)
    elif link.we_are_server or near:
        # The one that connects: counted from when it forwards, which is after it connected.
        started.wait_ready()
    else:
        # rte_vhost accepts up to a second after it began to listen: it polls the sockets that
        # it knew a second ago. Counted from there.
        h.wait_socket(link.path, process=started)
        started.wait_text("new vhost user connection", patience * ACCEPT_S)
    return time.monotonic()


def check_restart_after(**devargs):
    """After the peer was killed, the port stops and starts, and works with a new peer."""
    link = Link(False, **devargs)
    link.start_both()
    wait_traffic(link.near, 5, time.monotonic(), "first connection")
    link.far.kill()
    h.wait_until(lambda: not link.near.link_up(), 2, "link down")
    check_nothing_lost(link.near)
    link.start_far()
    text = link.near.cmd("port start 0")
    h.expect("ail" not in text, "port start: " + link.near.complaints())
    link.near.cmd("start")
    h.wait_until(link.near.link_up, 2, "link up after port start")
    wait_traffic(link.near, 2, time.monotonic(), "after port start")
    link.far.kill()
    h.wait_until(lambda: not link.near.link_up(), 2, "link down")
    # No peer at all: leaving must neither hang nor end by a signal.
    link.near.quit()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="each case with split and packed")
    parser.add_argument("--times", type=int, default=20)
    args = parser.parse_args()
    suite = h.Suite("net_reconnect")
    global patience
    try:
        # Bounds in wall time: what else this machine does shall not count. Children inherit it.
        os.nice(-10)
    except OSError:
        patience = 3  # not root: the others count
    cases = (
        ("net_vhost server killed", False, False, 0),
        ("net_vhost client killed", False, True, 1),
        ("driver killed, client", True, False, 1),
        ("driver killed, server", True, True, 0),
    )
    for title, kill_near, we_are_server, layout in cases:
        for packed in (0, 1) if args.full else (layout,):
            name = "%s, %s" % (title, "packed" if packed else "split")
            if h.DRIVER != "net_vireo" and not kill_near and not we_are_server:
                suite.run(name, skip_stock)
                continue
            suite.run(name, check_killing, kill_near, we_are_server, args.times,
                      packed_vq=packed, mrg_rxbuf=1 - layout)
    if h.DRIVER == "net_vireo":
        suite.run("port restart without a peer, split", check_restart_after, packed_vq=0)
        suite.run("port restart without a peer, packed", check_restart_after, packed_vq=1)
    suite.finish()


def skip_stock():
    raise h.Skip("stock net_virtio_user does not connect again")


if __name__ == "__main__":
    main()
