# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Vireo Authors
"""Instructions that net_vireo and stock net_virtio_user spend on a packet.

testpmd runs under callgrind, which counts from after link up to the end of a few
hundred thousand packets. What counts is the self cost of the driver's own objects:
librte_net_virtio.so on one side, librte_net_vireo.so and libvireo*.so on the other,
divided by the packets that the port counted. One line a case and the median ratio:

    case=tx-split-inorder0-segs1 stock=131.2 vireo=70.4 ratio=0.537

Valgrind knows no AVX-512, so stock's packed vector path takes no part; where stock has
a vector path that works there (Rx, split, without mergeable buffers), the better counts.
"""

import argparse
import os
import re
import subprocess
import time

import benchlib

STOCK_OBJECTS = re.compile(r"/librte_net_virtio\.so")
VIREO_OBJECTS = re.compile(r"/(librte_net_vireo|libvireo[a-z_]*)\.so")
QUICK_CASES = re.compile(r"^rx-(split|packed)-mrg1-inorder0|^tx-(split|packed)-inorder0-segs")
# callgrind's lines: a subposition (compressed or not) and a count.
COST = re.compile(r"^[+*-]?\d*\s+(\d+)")


def self_cost(path, objects):
    """Instructions spent in matching objects, those of their callees left out."""
    names, current, total, skip = {}, "", 0, False
    with open(path, encoding="utf-8", errors="replace") as dump:
        for line in dump:
            if line.startswith("ob="):
                match = re.match(r"ob=(\(\d+\))(?: (.*))?", line)
                if match is not None and match.group(2):
                    names[match.group(1)] = match.group(2)
                current = names.get(match.group(1), "") if match else line[3:].strip()
            elif line.startswith("cob="):
                match = re.match(r"cob=(\(\d+\)) (.*)", line)
                if match is not None:
                    names[match.group(1)] = match.group(2)
            elif line.startswith("calls="):
                skip = True
            elif COST.match(line):
                if not skip and objects.search(current):
                    total += int(COST.match(line).group(1))
                skip = False
    return total


class Counter:
    """One driver under callgrind."""

    def __init__(self, config, opts, case, vdev, eal, env, objects):
        self.config, self.opts, self.objects = config, opts, objects
        self.receives = case[1]
        self.dump = os.path.join(config.folder, config.next_name("callgrind"))
        wrapper = ["valgrind", "--tool=callgrind", "--instr-atstart=no",
                   "--callgrind-out-file=" + self.dump]
        self.driver = benchlib.Driver(config, opts.peer, vdev, self.receives,
                                      benchlib.testpmd_options(case[3]), eal, env, wrapper)

    def control(self, *args):
        """Talk to the running callgrind."""
        pid = str(self.driver.testpmd.process.pid)
        done = subprocess.run(["callgrind_control", *args, pid], capture_output=True, text=True,
                              timeout=60, check=False)
        if done.returncode != 0:
            raise benchlib.BenchError("callgrind_control %s failed: %s" % (
                " ".join(args), done.stdout + done.stderr))

    def count(self):
        """Instructions a packet."""
        testpmd = self.driver.testpmd
        key = "RX-packets" if self.receives else "TX-packets"
        self.driver.far.start()
        before = testpmd.port_stats()[key]
        self.control("--instr=on")
        testpmd.command("start")
        time.sleep(2 if self.opts.quick else 4)
        testpmd.command("stop")
        self.control("--instr=off")
        packets = testpmd.port_stats()[key] - before
        self.control("--dump")
        cost = sum(self_cost(path, self.objects) for path in self.dumps())
        self.driver.far.stop()
        self.driver.close()
        if packets < 10000 or cost == 0:
            raise benchlib.BenchError("%d packets and %d instructions counted: expected more" % (
                packets, cost))
        return cost / packets

    def dumps(self):
        """Files that callgrind has written so far."""
        stem = os.path.basename(self.dump)
        return [os.path.join(self.config.folder, name)
                for name in os.listdir(self.config.folder) if name.startswith(stem)]


def count_stock(config, opts, case):
    """Stock's instructions a packet, the better of what works under valgrind."""
    vdev = "net_virtio_user0," + case[2]
    best = Counter(config, opts, case, vdev, [], None, STOCK_OBJECTS).count()
    if case[0] == "rx-split-mrg0-inorder0":
        best = min(best, Counter(config, opts, case, vdev + ",vectorized=1", [], None,
                                 STOCK_OBJECTS).count())
    return best


def count_vireo(config, opts, case):
    """net_vireo's."""
    vdev = "net_vireo0," + case[2] + ("," + opts.devargs if opts.devargs else "")
    return Counter(config, opts, case, vdev, benchlib.PLUGIN_ARGS, config.plugin_env(),
                   VIREO_OBJECTS).count()


def run():
    """@return exit status."""
    parser = argparse.ArgumentParser(prog="net_instructions.sh", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    benchlib.common_args(parser)
    parser.add_argument("--max-median", type=float, default=0, metavar="R",
                        help="fail when the median ratio is above this")
    opts = parser.parse_args()
    chosen = benchlib.choose_cases(opts.cases)
    if opts.quick:
        chosen = [case for case in chosen if QUICK_CASES.search(case[0])] or chosen
    if opts.list:
        print("\n".join(case[0] for case in chosen))
        return 0
    config = benchlib.make_config(opts)
    config.hugepages = False
    config.timed = False
    records = []
    for case in chosen:
        stock, vireo = count_stock(config, opts, case), count_vireo(config, opts, case)
        records.append({"case": case[0], "stock": stock, "vireo": vireo, "ratio": vireo / stock})
        print("case=%s stock=%.1f vireo=%.1f ratio=%.3f" % (case[0], stock, vireo, vireo / stock),
              flush=True)
    median = benchlib.median([record["ratio"] for record in records])
    print("median=%.3f" % median, flush=True)
    benchlib.write_json(opts.json, {"peer": opts.peer, "cases": records, "median": median})
    return 1 if opts.max_median and median > opts.max_median else 0


if __name__ == "__main__":
    benchlib.run_main("net_instructions", run)
