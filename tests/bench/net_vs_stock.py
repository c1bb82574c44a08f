# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Vireo Authors
"""net_vireo against stock net_virtio_user, in turns.

For each case both drivers run in the same testpmd binary with the same arguments, each
with a far end of the same kind. They are measured in turns, so that a machine that
changes its mind changes it for both. One line a case:

    case=tx-split-inorder0-segs1 stock=3.412 vireo=6.120 ratio=1.794

stock and vireo are medians in Mpps; ratio is the median of the ratios of the pairs.
stock is the better of vectorized=0 and vectorized=1, which a first run finds out. The
last line has the worst ratio and the geometric mean of all of them.
"""

import argparse
import json
import sys

import benchlib


class Case:
    """One line of the result."""

    def __init__(self, config, opts, name, receives, args, segs):
        self.config, self.opts = config, opts
        self.name, self.receives, self.args, self.segs = name, receives, args, segs
        self.vectorized = 0
        self.stock, self.vireo, self.ratios = [], [], []


    def stock_driver(self, vectorized):
        """Stock net_virtio_user."""
        extra = ",vectorized=1" if vectorized else ""
        return benchlib.Driver(self.config, self.opts.peer,
                               "net_virtio_user0," + self.args + extra, self.receives,
                               benchlib.testpmd_options(self.segs), benchlib.SIMD_ARGS if vectorized else [])

    def vireo_driver(self):
        """net_vireo with the EAL arguments that stock has."""
        if self.opts.self:
            return self.stock_driver(self.vectorized)
        eal = benchlib.PLUGIN_ARGS + (benchlib.SIMD_ARGS if self.vectorized else [])
        extra = "," + self.opts.devargs if self.opts.devargs else ""
        return benchlib.Driver(self.config, self.opts.peer, "net_vireo0," + self.args + extra,
                               self.receives, benchlib.testpmd_options(self.segs), eal,
                               self.config.plugin_env())

    def close(self, drivers):
        """End them, and see that nothing was miscounted."""
        for driver in drivers:
            mine, theirs = driver.close()
            benchlib.check_counts(mine, theirs, self.receives)

    def calibrate(self):
        """Find out whether stock is faster with its vector paths."""
        drivers = [self.stock_driver(False)]
        try:
            drivers.append(self.stock_driver(True))
        except benchlib.BenchError:
            self.close(drivers)
            return
        turns = [benchlib.measure_turns(self.config, drivers, self.opts.warm, self.opts.window)
                 for _ in range(2 if self.opts.quick else 3)]
        self.close(drivers)
        scalar, vector = (benchlib.median(values) for values in zip(*turns))
        self.vectorized = int(vector > scalar * 1.02)
        if self.config.verbose:
            print("# %s: stock scalar %.3f, vectorized %.3f Mpps" % (self.name, scalar, vector),
                  file=sys.stderr)
        self.scalar_mpps, self.vector_mpps = scalar, vector

    def run_pairs(self, nb_pairs):
        """Some pairs with fresh processes, the order changing from pair to pair."""
        stock = self.stock_driver(self.vectorized)
        vireo = self.vireo_driver()
        for _ in range(nb_pairs):
            turn = len(self.ratios) % 2
            order = [vireo, stock] if turn else [stock, vireo]
            results = benchlib.measure_turns(self.config, order, self.opts.warm, self.opts.window)
            if turn:
                results.reverse()
            self.stock.append(results[0])
            self.vireo.append(results[1])
            self.ratios.append(results[1] / results[0])
        if abs(stock.bytes_per_packet - vireo.bytes_per_packet) > 0.5:
            raise benchlib.BenchError("%s: stock moved %.1f bytes a packet, vireo %.1f" % (
                self.name, stock.bytes_per_packet, vireo.bytes_per_packet))
        self.close([stock, vireo])

    def run(self):
        """All pairs. @return the ratio."""
        self.calibrate()
        while len(self.ratios) < self.opts.pairs:
            self.run_pairs(min(self.opts.restart, self.opts.pairs - len(self.ratios)))
        return benchlib.median(self.ratios)

    def line(self):
        """The line of this case."""
        return "case=%s stock=%.3f vireo=%.3f ratio=%.3f" % (
            self.name, benchlib.median(self.stock), benchlib.median(self.vireo),
            benchlib.median(self.ratios))

    def record(self):
        """The same for the JSON file, with every reading."""
        return {"case": self.name, "stock": benchlib.median(self.stock),
                "vireo": benchlib.median(self.vireo), "ratio": benchlib.median(self.ratios),
                "vectorized": self.vectorized, "stock_scalar": self.scalar_mpps,
                "stock_vectorized": self.vector_mpps, "stock_all": self.stock,
                "vireo_all": self.vireo}

    scalar_mpps = None
    vector_mpps = None


def parse_args():
    """The command line."""
    parser = argparse.ArgumentParser(prog="net_vs_stock.sh", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    benchlib.common_args(parser)
    parser.add_argument("--pairs", type=int, default=None,
                        help="pairs a case (default 7, quick 3)")
    parser.add_argument("--self", action="store_true",
                        help="stock against stock: shows how noisy this machine is")
    parser.add_argument("--restart", type=int, default=3, metavar="N",
                        help="fresh processes every N pairs (default 3)")
    parser.add_argument("--window", type=float, default=None, help="seconds measured (default 1)")
    parser.add_argument("--min-worst", type=float, default=0, metavar="R",
                        help="fail when a case is below this ratio")
    parser.add_argument("--min-geomean", type=float, default=0, metavar="R",
                        help="fail when the geometric mean is below this ratio")
    opts = parser.parse_args()
    opts.pairs = opts.pairs or (3 if opts.quick else 7)
    opts.window = opts.window or (0.5 if opts.quick else 1.0)
    opts.warm = 0.2
    if opts.pairs < 1 or opts.restart < 1:
        parser.error("--pairs and --restart: expected 1 or more")
    return opts


def run():
    """@return exit status."""
    opts = parse_args()
    chosen = benchlib.choose_cases(opts.cases)
    if opts.list:
        print("\n".join(case[0] for case in chosen))
        return 0
    config = benchlib.Config(opts.build, opts.lock, opts.verbose)
    print("# far end %s, %s, %d pairs of %.1f s" % (opts.peer, config.memory_text(), opts.pairs,
                                                  opts.window), file=sys.stderr)
    ratios, records = [], []
    for spec in chosen:
        case = Case(config, opts, *spec)
        ratios.append(case.run())
        records.append(case.record())
        print(case.line(), flush=True)
    worst, mean = min(ratios), benchlib.geomean(ratios)
    print("worst=%.3f geomean=%.3f" % (worst, mean), flush=True)
    if opts.json:
        with open(opts.json, "w", encoding="utf-8") as out:
            json.dump({"peer": opts.peer, "hugepages": config.hugepages, "pairs": opts.pairs,
                       "cases": records, "worst": worst, "geomean": mean}, out, indent=1)
    return 0 if worst >= opts.min_worst and mean >= opts.min_geomean else 1


if __name__ == "__main__":
    benchlib.run_main("net_vs_stock", run)
