# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Vireo Authors
"""net_vireo beside stock net_virtio_user: both in stock testpmd, against stock net_vhost.

Two processes, one with the driver and one with net_vhost, on a core each; 64-byte packets in
each direction, split and packed rings. The drivers take turns; the table has the medians. What
is counted is what arrived, at the end that received it.
"""

import os
import statistics
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests",
                                "interop"))
import harness as h  # noqa: E402 pylint: disable=wrong-import-position

ROUNDS = 3
SECONDS = 0.8
RING = 1024
DRIVERS = ("net_virtio_user", "net_vireo")
DIRECTIONS = ("driver to vhost", "vhost to driver")


def open_pair(driver, packed):
    path = h.new_socket()
    args = ["--rxd=%d" % RING, "--txd=%d" % RING]
    far = h.Testpmd("vhost", [h.vhost_vdev(path)], args, ready=False)
    h.wait_socket(path, process=far)
    near = h.Testpmd("driver", [h.driver_vdev(path, driver=driver, queue_size=RING,
                                              packed_vq=packed)], args, cpu_index=1)
    far.wait_ready()
    h.wait_until(lambda: near.link_up() and far.link_up(), 5, "link up")
    return near, far


def measure(sender, receiver):
    """Millions of packets a second that arrive."""
    sender.cmd("set fwd txonly")
    receiver.cmd("set fwd rxonly")
    receiver.cmd("start")
    sender.cmd("start")
    time.sleep(0.2)
    readings = []
    for pause_s in (SECONDS, 0):
        readings.append((time.monotonic(), receiver.stats()["RX-packets"]))
        time.sleep(pause_s)
    sender.stop()
    receiver.stop()
    (begin, before), (end, after) = readings
    h.expect(after > before, "%s receives nothing from %s" % (receiver.name, sender.name))
    return (after - before) / (end - begin) / 1e6


def run_pair(driver, packed, results):
    near, far = open_pair(driver, packed)
    for direction, sender, receiver in zip(DIRECTIONS, (near, far), (far, near)):
        results.setdefault((packed, direction, driver), []).append(measure(sender, receiver))
    near.quit()
    far.quit()


def print_table(results):
    print("\n%-8s %-18s %12s %12s %8s" % ("ring", "direction", "stock Mpps", "vireo Mpps",
                                          "ratio"))
    for packed in (0, 1):
        for direction in DIRECTIONS:
            stock, vireo = (statistics.median(results[packed, direction, d]) for d in DRIVERS)
            print("%-8s %-18s %12.2f %12.2f %8.2f" % (
                "packed" if packed else "split", direction, stock, vireo, vireo / stock))


def main():
    try:
        os.nice(-10)  # what else runs here shall not decide the comparison; children inherit it
    except OSError:
        pass
    print("net: stock dpdk-testpmd with %s and with %s, against net_vhost; %s" % (
        DRIVERS[0], DRIVERS[1],
        "2 MB hugepages" if h.HUGE else "--no-huge, since " + (
            h.why_no_hugepages(3 * h.MEMORY_MB) or "asked for")))
    print("64-byte packets, ring size %d, %d rounds in turns, medians" % (RING, ROUNDS), end="",
          flush=True)
    results = {}
    try:
        for _ in range(ROUNDS):
            for packed in (0, 1):
                for driver in DRIVERS:
                    run_pair(driver, packed, results)
                    print(".", end="", flush=True)
    except (h.Failure, h.Skip) as fault:
        print("\nnet: " + str(fault))
        return 1
    print_table(results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
