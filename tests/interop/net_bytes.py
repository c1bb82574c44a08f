# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Vireo Authors
"""Every byte, end to end: pcap file -> driver -> net_vhost -> pcap file, and the way back.

Both testpmd forward between their port and a net_pcap port. Frames have random content and
lengths, among them those around the borders of buffers; what comes out is compared with what
went in, in order.
"""

import os

import harness as h
import pcap

COUNT = 3000


class Case:
    def __init__(self, title, near_mbuf=2176, far_mbuf=2176, tx_max=9000, rx_max=9000,
                 queue_size=256, **devargs):
        self.title = title
        self.near_mbuf = near_mbuf  # with 128 bytes of headroom
        self.far_mbuf = far_mbuf
        self.tx_max = tx_max
        self.rx_max = rx_max
        self.devargs = dict(devargs, queue_size=queue_size)


def cases():
    for packed in (0, 1):
        layout = "packed" if packed else "split"
        yield Case("%s mergeable" % layout, packed_vq=packed, mrg_rxbuf=1, in_order=0)
        yield Case("%s mergeable, 24 segments" % layout, near_mbuf=512, far_mbuf=512,
                   packed_vq=packed, mrg_rxbuf=1, in_order=1)
        yield Case("%s one large buffer" % layout, near_mbuf=9856, packed_vq=packed,
                   mrg_rxbuf=0, in_order=1)
        yield Case("%s chained Tx, small Rx" % layout, rx_max=1514, packed_vq=packed,
                   mrg_rxbuf=0, in_order=0)
        for indirect in ("pool", "mempool", "malloc", "off"):
            if h.DRIVER == "net_vireo":
                yield Case("%s indirect=%s" % (layout, indirect), packed_vq=packed, mrg_rxbuf=1,
                           in_order=int(indirect in ("mempool", "off")), indirect=indirect)
    if h.DRIVER == "net_vireo":
        yield Case("packed, 250 slots", packed_vq=1, mrg_rxbuf=1, queue_size=250)
        yield Case("split event_idx", packed_vq=0, mrg_rxbuf=1, event_idx=1)
        yield Case("packed event_idx", packed_vq=1, mrg_rxbuf=1, event_idx=1)


def open_end(name, port, pcap_in, pcap_out, mbuf_size, max_len, cpu_index):
    args = ["--mbuf-size=%d" % mbuf_size, "--no-flush-rx", "--rxd=256", "--txd=256"]
    if port.startswith(h.DRIVER):
        args.append("--disable-device-start")
    if max_len > 1518:
        args.append("--max-pkt-len=%d" % (max_len + 14))
    nb_mbufs = 32768 if mbuf_size < 1024 else 8192
    # A core for each direction: with one for both, two ends that retry wait for each other.
    return h.Testpmd(name, [port, "net_pcap0,rx_pcap=%s,tx_pcap=%s" % (pcap_in, pcap_out)],
                    args, cpu_index=cpu_index, nb_cores=2, nb_mbufs=nb_mbufs,
                     ready=False)


def start_ports(end, mergeable):
    # net_vhost and net_pcap do not know these offloads; they always do it.
    end.cmd("port config 0 tx_offload multi_segs on")
    end.cmd("port config 0 rx_offload scatter " + ("on" if mergeable else "off"))
    text = end.cmd("port start all")
    h.expect("ail" not in text, "%s: port start: %s" % (end.name, end.complaints()))


def compare(what, sent, received):
    for i, (a, b) in enumerate(zip(sent, received)):
        if a != b:
            where = next((j for j, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
            raise h.Failure("%s: frame %d differs from byte %d on; lengths %d and %d" % (
                what, i, where, len(a), len(b)))
    h.expect(len(sent) == len(received), "%s: %d frames sent, %d received" % (
        what, len(sent), len(received)))


def check(case):
    stem = h.work_path("b%d" % h.serial())
    files = {k: stem + k for k in ("tx_in", "tx_out", "rx_in", "rx_out")}
    edges = [n * (case.near_mbuf - 128) for n in range(1, 6)]
    edges += [n * (case.near_mbuf - 128) - 12 for n in range(1, 4)]
    to_far = pcap.random_frames(COUNT, case.tx_max, edges, seed=1)
    to_near = pcap.random_frames(COUNT, case.rx_max, edges, seed=2)
    pcap.write(files["tx_in"], to_far)
    pcap.write(files["rx_in"], to_near)

    path = h.new_socket()
    mergeable = case.devargs["mrg_rxbuf"] == 1
    far = open_end("vhost", h.vhost_vdev(path), files["rx_in"], files["tx_out"], case.far_mbuf,
                   9000, 0)
    h.wait_socket(path, process=far)
    near = open_end("driver", h.driver_vdev(path, **case.devargs), files["tx_in"],
                    files["rx_out"], case.near_mbuf, case.rx_max, 1)
    for end in (far, near):
        end.wait_ready()
        if end is near:
            start_ports(end, mergeable)
        # A full ring must not lose a frame: wait for room, a second at most.
        end.cmd("set fwd io retry")
        end.cmd("set burst tx delay 20 retry 50000")
    h.wait_until(lambda: near.link_up() and far.link_up(), 5, "link up")
    near.cmd("start")
    far.cmd("start")
    try:
        h.wait_until(lambda: far.stats(1)["TX-packets"] >= COUNT and
                     near.stats(1)["TX-packets"] >= COUNT, 8, "all frames")
    except h.Failure:
        pass  # what is missing is told below
    near.stop()
    far.stop()
    near.quit()
    far.quit()
    compare("driver to vhost", to_far, pcap.read(files["tx_out"]))
    compare("vhost to driver", to_near, pcap.read(files["rx_out"]))
    for name in files.values():
        os.unlink(name)
    return "%d frames, %d bytes each way the same" % (COUNT, sum(map(len, to_far)))


def main():
    suite = h.Suite("net_bytes")
    for case in cases():
        suite.run(case.title, check, case)
    suite.finish()


if __name__ == "__main__":
    main()
