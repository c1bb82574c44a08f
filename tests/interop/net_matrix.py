# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Vireo Authors
"""The driver in stock testpmd against stock net_vhost, over what can be negotiated and sent.

Each run has three parts: a closed loop of 32 bursts, in which no packet may get lost, and
continuous traffic in each direction, counted at both ends.
"""

import argparse
import itertools
import time

import harness as h

RING = 1024
# Without progress for so long, it stalls; a loaded machine is slow, but not that slow.
STALL_S = 8.0
MRG_SEGMENTS = [1800] * 5

# name: (txpkts, mbuf size or None, packets a burst in the closed loop). 32 bursts must fit
# the ring at each point of the loop, with one slot a segment and one for the header.
SIZES = {
    "64": ([64], None, 16),
    "1518": ([1518], None, 16),
    "4x64": ([64] * 4, None, 4),
    "jumbo": ([9000], 9856, 16),
    "jumbo5": (MRG_SEGMENTS, None, 4),
}

DIMENSIONS = (
    ("packed_vq", (0, 1)),
    ("mrg_rxbuf", (0, 1)),
    ("in_order", (0, 1)),
    ("indirect", ("auto", "pool", "mempool", "malloc", "off")),
    ("queues", (1, 2)),
    ("size", tuple(SIZES)),
)

# Every pair of values that 16 runs can hold: 119 of 128, the other nine being combinations of
# `indirect` with a size; packets of four segments meet all five.
SUBSET = (
    (0, 0, 1, "auto", 2, "4x64"),
    (0, 0, 1, "mempool", 2, "64"),
    (0, 0, 1, "off", 1, "4x64"),
    (0, 0, 1, "pool", 1, "1518"),
    (0, 1, 0, "malloc", 2, "jumbo5"),
    (0, 1, 0, "off", 2, "64"),
    (0, 1, 0, "pool", 2, "4x64"),
    (0, 1, 1, "mempool", 1, "jumbo"),
    (1, 0, 0, "auto", 2, "jumbo"),
    (1, 0, 0, "pool", 1, "64"),
    (1, 0, 1, "malloc", 2, "1518"),
    (1, 1, 0, "auto", 1, "jumbo5"),
    (1, 1, 0, "mempool", 2, "4x64"),
    (1, 1, 0, "off", 1, "1518"),
    (1, 1, 1, "malloc", 1, "4x64"),
    (1, 1, 1, "mempool", 2, "jumbo5"),
)


def is_legal(run):
    # A packet that is larger than a buffer needs mergeable buffers.
    return not (run["size"] == "jumbo5" and run["mrg_rxbuf"] == 0)


def all_runs():
    names = [name for name, _ in DIMENSIONS]
    for values in itertools.product(*(values for _, values in DIMENSIONS)):
        run = dict(zip(names, values))
        if is_legal(run):
            yield run


def subset_runs():
    names = [name for name, _ in DIMENSIONS]
    return [dict(zip(names, values)) for values in SUBSET]


def testpmd_args(run):
    lengths, mbuf_size, _ = SIZES[run["size"]]
    args = ["--rxd=%d" % RING, "--txd=%d" % RING,
            "--rxq=%d" % run["queues"], "--txq=%d" % run["queues"]]
    if sum(lengths) > 1518:
        args.append("--max-pkt-len=9728")
    if mbuf_size:
        args.append("--mbuf-size=%d" % mbuf_size)
    if len(lengths) > 1:
        args.append("--tx-offloads=0x8000")  # RTE_ETH_TX_OFFLOAD_MULTI_SEGS
    return args


def open_pair(run):
    path = h.new_socket()
    args = testpmd_args(run)
    # Full Tx rings may hold five mbufs a slot.
    nb_mbufs = 8192 if SIZES[run["size"]][1] else 24576
    far = h.Testpmd("vhost", [h.vhost_vdev(path, queues=run["queues"])], args,
                    nb_mbufs=nb_mbufs, ready=False)
    h.wait_socket(path, process=far)
    devargs = {k: run[k] for k in ("packed_vq", "mrg_rxbuf", "in_order", "indirect", "queues")}
    # What the loop left in the ring must survive the next `start`.
    args.append("--no-flush-rx")
    if run["size"] == "jumbo5":
        args.append("--enable-scatter")
    near = h.Testpmd("driver", [h.driver_vdev(path, queue_size=RING, **devargs)], args,
                     nb_mbufs=nb_mbufs, cpu_index=1)
    far.wait_ready()
    for end in (near, far):
        # testpmd says "give up" on stderr and goes on with 64 B when it refuses.
        text = end.cmd("set txpkts " + ",".join(map(str, SIZES[run["size"]][0])))
        h.expect("give up" not in text, "testpmd refused the packet length: " + text)
    h.wait_until(lambda: near.link_up() and far.link_up(), 5, "link up")
    return near, far


def set_forwarding(near, far, near_mode, far_mode):
    for end, mode in ((near, near_mode), (far, far_mode)):
        end.cmd("set fwd " + mode)
        end.cmd("clear port stats all")
        end.cmd("clear fwd stats all")


def check_counts(run, what, sender, receiver):
    """All that was sent arrived, and was as long as it should be."""
    def arrived():
        return receiver.stats()["RX-packets"] >= sender.stats()["TX-packets"]
    try:
        h.wait_until(arrived, 3, "")
    except h.Failure:
        pass
    tx, rx = sender.stats(), receiver.stats()
    h.expect(rx["RX-packets"] == tx["TX-packets"], "%s: %d packets sent, %d received" % (
        what, tx["TX-packets"], rx["RX-packets"]))
    h.expect(rx["RX-packets"] > 0, "%s: no packet arrived" % what)
    length = sum(SIZES[run["size"]][0])
    for name, counts, key in (("received", rx, "RX"), ("sent", tx, "TX")):
        mean = counts[key + "-bytes"] / counts[key + "-packets"]
        h.expect(mean == length, "%s: %s packets have %.2f bytes in the mean, not %d" % (
            what, name, mean, length))
    h.expect(rx["RX-errors"] == 0 and tx["TX-errors"] == 0, "%s: errors are counted: %s %s" % (
        what, rx, tx))
    return rx["RX-packets"]


def check_one_way(run, what, sender, receiver, seconds):
    set_forwarding(sender, receiver, "txonly", "rxonly")
    receiver.cmd("start")
    sender.cmd("start")
    time.sleep(seconds)
    h.wait_until(lambda: receiver.stats()["RX-packets"] >= 4 * RING, STALL_S,
                 "%s: four rings full" % what)
    sender.stop()
    nb = check_counts(run, what, sender, receiver)
    receiver.stop()
    return nb


def check_loop(run, near, far, seconds):
    """32 bursts go round; afterwards they are all in the near end's Rx rings."""
    burst = SIZES[run["size"]][2]
    population = 32 * burst * run["queues"]
    set_forwarding(near, far, "io", "mac")
    near.cmd("set burst %d" % burst)
    far.cmd("start")
    total = 0
    # The second round begins with what the first one left in the rings.
    for command in ("start tx_first 32", "start"):
        near.cmd(command)
        time.sleep(seconds)
        at_least = total + 2 * population
        h.wait_until(lambda: near.stats()["RX-packets"] >= at_least, STALL_S, "loop: two laps")
        counts = near.stop()
        total = near.stats()["RX-packets"]
        h.expect(counts["TX-dropped"] == 0, "loop: the driver's side dropped %d of %d" % (
            counts["TX-dropped"], counts["TX-total"]))
        check_counts(run, "loop, driver to vhost", near, far)
        near_counts, far_counts = near.stats(), far.stats()
        inside = far_counts["TX-packets"] - near_counts["RX-packets"]
        h.expect(inside == population, "loop: %d packets of %d are still in it" % (
            inside, population))
    near.cmd("set burst 32")
    dropped = far.stop()["TX-dropped"]
    h.expect(dropped == 0, "loop: vhost found no buffer for %d packets" % dropped)
    # Take out what is left, so that the next part starts empty.
    set_forwarding(near, far, "rxonly", "rxonly")
    near.cmd("start")
    h.wait_until(lambda: near.stats()["RX-packets"] >= population, 3, "loop: the rest")
    near.stop()
    h.expect(near.stats()["RX-packets"] == population, "loop: more came out than was in it")
    return total


def check_run(run, seconds):
    near, far = open_pair(run)
    rounds = check_loop(run, near, far, seconds)
    nb_tx = check_one_way(run, "driver to vhost", near, far, seconds)
    nb_rx = check_one_way(run, "vhost to driver", far, near, seconds)
    near.quit()
    far.quit()
    return "loop %d, Tx %d, Rx %d packets" % (rounds, nb_tx, nb_rx)


def title_of(run):
    return " ".join("%s=%s" % item for item in run.items())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="all combinations, about half an hour")
    parser.add_argument("--seconds", type=float, default=0.3, help="of traffic, each part")
    parser.add_argument("--only", default="", metavar="KEY=VALUE,...",
                        help="only runs with these values; implies --full")
    args = parser.parse_args()
    suite = h.Suite("net_matrix")
    runs = list(all_runs()) if args.full or args.only else subset_runs()
    for word in filter(None, args.only.split(",")):
        key, value = word.split("=")
        runs = [run for run in runs if str(run[key]) == value]
    for run in runs:
        suite.run(title_of(run), check_run, run, args.seconds)
    suite.finish()


if __name__ == "__main__":
    main()
