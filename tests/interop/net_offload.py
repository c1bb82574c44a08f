# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Vireo Authors
"""Offloads, seen from the far end: Tx and Rx checksums, TSO, LRO, VLAN, jumbo frames.

Frames from a pcap file go through testpmd's csum or io engine on the sending side, and come out in
a pcap file on the receiving side, which also prints the offload flags of what it received.
"""

import os
import random
import re
import struct

import harness as h
import pcap

COUNT = 64
MSS = 1400
JUMBO = ["--max-pkt-len=9014"]
BIG_BUFFERS = JUMBO + ["--mbuf-size=9856"]
RX_CSUM = ["port config 0 rx_offload %s_cksum on" % p for p in ("udp", "tcp")]
LRO_ON = ["port config 0 rx_offload %s on" % o for o in ("tcp_lro", "scatter")]
L4_NONE = "RTE_MBUF_F_RX_L4_CKSUM_NONE"
L4_GOOD = "RTE_MBUF_F_RX_L4_CKSUM_GOOD"
L4_BAD = "RTE_MBUF_F_RX_L4_CKSUM_BAD"
LRO = "RTE_MBUF_F_RX_LRO"


def payloads(low, high):
    rnd = random.Random(5)
    return [rnd.randbytes(rnd.randint(low, high)) for _ in range(COUNT)]


def tcp_frames(data, l4_sum=None):
    return [pcap.ip_frame(pcap.TCP, p, seq=i, l4_sum=l4_sum) for i, p in enumerate(data)]


def udp_frames(data, l4_sum=None):
    return [pcap.ip_frame(pcap.UDP, p, l4_sum=l4_sum) for p in data]


class Setup:
    """How the two ends of one case are started."""

    def __init__(self, near_args=(), far_args=(), vhost=None, **devargs):
        self.near_args = list(near_args)
        self.far_args = list(far_args)
        self.vhost = vhost or {}
        self.devargs = dict({"mrg_rxbuf": 1}, **devargs)


class Ends:
    def __init__(self, setup, frames, to_far):
        self.infile = h.work_path("o%d_in" % h.serial())
        self.outfile = h.work_path("o%d_out" % h.serial())
        self.nb_frames = len(frames)
        pcap.write(self.infile, frames)
        path = h.new_socket()
        self.far = self._start("vhost", h.vhost_vdev(path, **setup.vhost), setup.far_args,
                               not to_far, 0)
        h.wait_socket(path, process=self.far)
        self.near = self._start("driver", h.driver_vdev(path, **setup.devargs),
                                setup.near_args, to_far, 1)
        self.near.wait_ready()
        self.far.wait_ready()
        self.sender, self.receiver = ((self.near, self.far) if to_far else (self.far, self.near))

    def _start(self, name, port, args, sends, cpu_index):
        pcap_port = "net_pcap0," + ("rx_pcap=" + self.infile if sends else
                                    "tx_pcap=" + self.outfile)
        return h.Testpmd(name, [port, pcap_port],
                         ["--rxd=256", "--txd=256", "--no-flush-rx"] + args,
                         cpu_index=cpu_index, ready=False)

    def configure(self, end, *commands):
        """Commands that need port 0 to be stopped; none of them may be refused."""
        end.cmd("port stop 0")
        for command in commands:
            text = end.cmd(command)
            h.expect(not re.search(r"(?i)not supported|isn't supported|error|fail|bad", text),
                     "%s: '%s': %s" % (end.name, command, text.strip()))
        text = end.cmd("port start 0")
        h.expect("ail" not in text, "%s: port start: %s" % (end.name, text.strip()))

    def run(self, engine):
        """Forward all frames; return (what came out, flags of each packet received)."""
        self.receiver.cmd("set verbose 1")
        self.receiver.cmd("set fwd io")
        self.sender.cmd("set fwd " + engine)
        h.wait_until(lambda: self.near.link_up() and self.far.link_up(), 5, "link up")
        begin = len(self.receiver.text)
        self.receiver.cmd("start")
        self.sender.cmd("start")
        try:
            h.wait_until(lambda: self.receiver.stats(1)["TX-packets"] >= self.nb_frames, 5, "")
        except h.Failure:
            pass
        self.sender.stop()
        self.receiver.stop()
        text = self.receiver.text[begin:]
        self.near.quit()
        self.far.quit()
        flags = re.findall(r"ol_flags: (.*)", text)
        frames = pcap.read(self.outfile)
        h.expect(len(frames) == self.nb_frames, "%d frames sent, %d arrived" % (
            self.nb_frames, len(frames)))
        return frames, flags


def check_payloads(sent, frames):
    for i, (data, frame) in enumerate(zip(sent, frames)):
        h.expect(pcap.parse(frame)["payload"] == data, "payload of frame %d differs" % i)


def expect_all(frames, key, what):
    bad = [i for i, frame in enumerate(frames) if not pcap.parse(frame)[key]]
    h.expect(not bad, "%s: %d of %d frames, the first is %d" % (
        what, len(bad), len(frames), bad[0] if bad else 0))


def expect_flags(flags, wanted, what):
    h.expect(flags, "%s: no flags were printed" % what)
    lacking = [f for f in flags if not any(w in f for w in wanted)]
    h.expect(not lacking, "%s: wanted %s, got '%s' for %d of %d packets" % (
        what, " or ".join(wanted), lacking[0] if lacking else "", len(lacking), len(flags)))


def check_tx_csum(proto, far_does_rx_csum, **devargs):
    """Frames with wrong checksums leave with what the device completes, or asks to complete."""
    make = tcp_frames if proto == "tcp" else udp_frames
    data = payloads(20, 1400)
    ends = Ends(Setup(**devargs), make(data, l4_sum=0xDEAD), to_far=True)
    commands = ["csum set %s hw 0" % proto]
    if h.DRIVER == "net_vireo":
        commands.append("csum set ip hw 0")
    if far_does_rx_csum:
        ends.configure(ends.far, *RX_CSUM)
    ends.configure(ends.near, *commands)
    frames, flags = ends.run("csum")
    check_payloads(data, frames)
    expect_all(frames, "ip_good", "IP checksum")
    if far_does_rx_csum:
        # The far end learns that the checksum is still to be completed.
        expect_flags(flags, (L4_NONE,), "Rx flags at the far end")
        expect_all(frames, "l4_partial", "pseudo-header checksum")
    else:
        expect_all(frames, "l4_good", "checksum completed by net_vhost")


def check_rx_csum(proto, offload, **devargs):
    make = tcp_frames if proto == "tcp" else udp_frames
    data = payloads(20, 1400)
    ends = Ends(Setup(**devargs), make(data, l4_sum=0xDEAD), to_far=False)
    if offload:
        ends.configure(ends.near, *RX_CSUM)
    ends.configure(ends.far, "csum set %s hw 0" % proto)
    frames, flags = ends.run("csum")
    check_payloads(data, frames)
    h.expect(not any(L4_BAD in f for f in flags), "a packet is marked bad")
    if offload:
        expect_flags(flags, (L4_NONE, L4_GOOD), "Rx flags")
        expect_all(frames, "l4_partial", "pseudo-header checksum")
    else:
        # Not asked for, so not negotiated: net_vhost completes it before it sends.
        expect_all(frames, "l4_good", "checksum")


def check_tso(**devargs):
    data = payloads(3000, 8900)
    ends = Ends(Setup(near_args=BIG_BUFFERS, far_args=JUMBO, vhost={"tso": 1}, **devargs),
                tcp_frames(data, l4_sum=0xDEAD), to_far=True)
    ends.configure(ends.far, *RX_CSUM)
    ends.configure(ends.near, "csum set tcp hw 0", "tso set %d 0" % MSS)
    frames, flags = ends.run("csum")
    expect_flags(flags, (LRO,), "large segments at the far end")
    check_payloads(data, frames)
    expect_all(frames, "ip_good", "IP checksum")


def check_tso_refused():
    ends = Ends(Setup(), tcp_frames(payloads(20, 30)), to_far=True)
    ends.near.cmd("port stop 0")
    ends.near.cmd("csum set tcp hw 0")
    text = ends.near.cmd("tso set %d 0" % MSS)
    h.expect("not supported" in text, "TSO is not refused: " + text.strip())
    caps = ends.near.cmd("show port 0 tx_offload capabilities")
    h.expect("TSO" not in caps.upper(), "TSO is among the capabilities: " + caps.strip())
    ends.near.cmd("port start 0")
    ends.near.quit()
    ends.far.quit()


def check_lro(**devargs):
    """With LRO on, what is not merged comes as before: stock net_vhost has no large segments."""
    data = payloads(20, 8900)
    ends = Ends(Setup(near_args=["--disable-device-start"] + JUMBO, far_args=JUMBO,
                      vhost={"tso": 1}, **devargs), tcp_frames(data), to_far=False)
    for command in RX_CSUM + LRO_ON:
        ends.near.cmd(command)
    text = ends.near.cmd("port start all")
    h.expect("ail" not in text, "port start with LRO: " + ends.near.complaints())
    frames, flags = ends.run("io")
    h.expect(not any(L4_BAD in f or LRO in f for f in flags), "Rx flags: %s" % flags[:1])
    check_payloads(data, frames)
    expect_all(frames, "l4_good", "checksum")


def tag(frame, tci):
    return frame[:12] + struct.pack("!HH", 0x8100, tci) + frame[12:]


def check_vlan_insert(**devargs):
    """send_vlan.c asks for tags; the far end writes what it got to a file."""
    program = h.build_program(os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                           "send_vlan.c"))
    path, out = h.new_socket(), h.work_path("o%d_out" % h.serial())
    far = h.Testpmd("vhost", [h.vhost_vdev(path), "net_pcap0,tx_pcap=" + out],
                    ["--rxd=256", "--txd=256", "--no-flush-rx", "--forward-mode=io", "-a"],
                    ready=False)
    h.wait_socket(path, process=far)
    far.wait_ready()
    near = h.Process([program, "--lcores", "0@%d" % h.cpu(1), "--no-pci", "--no-telemetry",
                      "--file-prefix", h.PREFIX + "_vlan", "--vdev",
                      h.driver_vdev(path, **devargs)] + h.memory_args(), "send_vlan")
    status = near.wait_end(h.START_S)
    h.expect(status == 0, "send_vlan: status %s: %s" % (status, near.tail()))
    far.quit()
    frames = pcap.read(out)
    h.expect(len(frames) == 32, "32 frames sent, %d arrived" % len(frames))
    for i, frame in enumerate(frames):
        wanted = b"\x02" + bytes([i]) * 11 + struct.pack("!HHH", 0x8100, 100, 0x88B5) + \
            bytes([i]) * 50
        h.expect(frame == wanted, "frame %d: %s" % (i, frame.hex()))


def check_vlan_strip():
    plain = udp_frames(payloads(20, 1400))
    ends = Ends(Setup(), [tag(f, 100) for f in plain], to_far=False)
    text = ends.near.cmd("vlan set strip on 0")
    h.expect("fail" not in text, "vlan set strip: " + text)
    frames, flags = ends.run("io")
    expect_flags(flags, ("RTE_MBUF_F_RX_VLAN_STRIPPED",), "Rx flags")
    for i, (a, b) in enumerate(zip(plain, frames)):
        h.expect(a == b, "frame %d differs" % i)


def main():
    suite = h.Suite("net_offload")
    for packed in (0, 1):
        layout = "packed" if packed else "split"
        for proto in ("tcp", "udp"):
            suite.run("Tx %s checksum, completed, %s" % (proto, layout), check_tx_csum, proto,
                      False, packed_vq=packed)
            suite.run("Tx %s checksum, flagged, %s" % (proto, layout), check_tx_csum, proto,
                      True, packed_vq=packed, in_order=1 - packed)
            suite.run("Rx %s checksum, %s" % (proto, layout), check_rx_csum, proto, True,
                      packed_vq=packed)
        suite.run("Rx checksum not asked for, %s" % layout, check_rx_csum, "tcp", False,
                  packed_vq=packed)
        suite.run("TSO, %s" % layout, check_tso, packed_vq=packed)
        suite.run("LRO, %s" % layout, check_lro, packed_vq=packed)
    suite.run("TSO not offered", check_tso_refused)
    suite.run("VLAN insert, split", check_vlan_insert, packed_vq=0)
    suite.run("VLAN insert, packed", check_vlan_insert, packed_vq=1)
    suite.run("VLAN strip", check_vlan_strip)
    suite.finish()


if __name__ == "__main__":
    main()
