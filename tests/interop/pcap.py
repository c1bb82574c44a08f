# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Vireo Authors
"""Reads and writes pcap files, makes frames and checks their checksums. Standard library only."""

import random
import struct

FILE_HEADER = struct.Struct("<IHHiIII")
RECORD_HEADER = struct.Struct("<IIII")
ETHERNET = 1
MAGIC_US = 0xA1B2C3D4
MAGIC_NS = 0xA1B23C4D


def write(path, frames):
    with open(path, "wb") as f:
        f.write(FILE_HEADER.pack(MAGIC_US, 2, 4, 0, 0, 65535, ETHERNET))
        for i, frame in enumerate(frames):
            f.write(RECORD_HEADER.pack(i // 1000, i % 1000, len(frame), len(frame)))
            f.write(frame)


def read(path):
    """Return the frames of a file; a last record that is not whole yet is left out."""
    with open(path, "rb") as f:
        data = f.read()
    if len(data) < FILE_HEADER.size:
        return []
    magic = FILE_HEADER.unpack_from(data)[0]
    if magic not in (MAGIC_US, MAGIC_NS):
        raise ValueError("%s: no pcap file, magic %#x" % (path, magic))
    frames, at = [], FILE_HEADER.size
    while at + RECORD_HEADER.size <= len(data):
        caught, length = RECORD_HEADER.unpack_from(data, at)[2:]
        at += RECORD_HEADER.size
        if at + caught > len(data):
            break
        if caught != length:
            raise ValueError("%s: frame of %d bytes cut to %d" % (path, length, caught))
        frames.append(data[at:at + caught])
        at += caught
    return frames


def random_frames(count, max_len, edges=(), seed=1):
    """Frames of random bytes; lengths 60 to max_len, with those around `edges` among them."""
    rnd = random.Random(seed)
    near_edges = [e + d for e in edges for d in (-1, 0, 1) if 60 <= e + d <= max_len]
    frames = []
    for i in range(count):
        if near_edges and i % 4 == 0:
            length = near_edges[i // 4 % len(near_edges)]
        else:
            length = rnd.randint(60, max_len)
        # Not an Ethernet type that a stage in between could want to parse.
        frames.append(rnd.randbytes(12) + b"\x88\xb5" + rnd.randbytes(length - 14))
    return frames


# --- TCP and UDP over IPv4 -----------------------------------------------------


def ones_sum(data, start=0):
    if len(data) % 2:
        data += b"\0"
    total = start + sum(struct.unpack("!%dH" % (len(data) // 2), data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def checksum(data, start=0):
    return ~ones_sum(data, start) & 0xFFFF


MAC_A = b"\x02\x00\x00\x00\x00\x0a"
MAC_B = b"\x02\x00\x00\x00\x00\x0b"
IP_A = bytes((192, 0, 2, 1))
IP_B = bytes((192, 0, 2, 2))
TCP, UDP = 6, 17
# Ethernet, IPv4 without options, TCP without options.
TCP_HEADERS = 14 + 20 + 20


def pseudo_sum(proto, length):
    return ones_sum(IP_A + IP_B + struct.pack("!BBH", 0, proto, length))


def ip_frame(proto, payload, seq=0, ip_sum=None, l4_sum=None):
    """A frame with right checksums, unless wrong ones are asked for."""
    if proto == TCP:
        l4 = struct.pack("!HHIIBBHHH", 1000, 2000, seq, 0, 0x50, 0x10, 8192, 0, 0)
        at = 16
    else:
        l4 = struct.pack("!HHHH", 1000, 2000, 8 + len(payload), 0)
        at = 6
    length = len(l4) + len(payload)
    if l4_sum is None:
        l4_sum = checksum(l4 + payload, pseudo_sum(proto, length)) or 0xFFFF
    l4 = l4[:at] + struct.pack("!H", l4_sum) + l4[at + 2:]
    ip = struct.pack("!BBHHHBBH", 0x45, 0, 20 + length, 1, 0x4000, 64, proto, 0) + IP_A + IP_B
    if ip_sum is None:
        ip_sum = checksum(ip)
    ip = ip[:10] + struct.pack("!H", ip_sum) + ip[12:]
    return MAC_A + MAC_B + b"\x08\x00" + ip + l4 + payload


def parse(frame):
    """Of an IPv4 TCP or UDP frame: what the tests look at."""
    ip = frame[14:34]
    total = struct.unpack_from("!H", ip, 2)[0]
    l4 = frame[34:14 + total]
    proto = ip[9]
    at = 16 if proto == TCP else 6
    header = 20 if proto == TCP else 8
    return {
        "ip_good": ones_sum(ip) == 0xFFFF,
        "l4_good": ones_sum(l4, pseudo_sum(proto, len(l4))) == 0xFFFF,
        # What a driver leaves when it asks the device for the checksum.
        "l4_partial": struct.unpack_from("!H", l4, at)[0] in (
            pseudo_sum(proto, len(l4)), pseudo_sum(proto, 0)),
        "seq": struct.unpack_from("!I", l4, 4)[0] if proto == TCP else None,
        "payload": l4[header:],
        "length": len(frame),
    }
