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
import sys

import benchlib


class Case:
    """One line of the result."""

    def __init__(self, config, opts, case):
        self.config, self.opts, self.case = config, opts, case
        self.vectorized = 0
        self.scalar_mpps = self.vector_mpps = None
        self.comparison = None

    def stock(self):
        """Stock net_virtio_user at its best."""
        return benchlib.stock_driver(self.config, self.opts, self.case, self.vectorized)

    def vireo(self):
        """net_vireo with the EAL arguments that stock has."""
        if self.opts.self:
            return self.stock()
        return benchlib.vireo_driver(self.config, self.opts, self.case,
                                     eal=benchlib.SIMD_ARGS if self.vectorized else [])

    def calibrate(self):
        """Find out whether stock is faster with its vector paths."""
        scalar = benchlib.stock_driver(self.config, self.opts, self.case, False)
        drivers = [scalar]
        try:
            drivers.append(benchlib.stock_driver(self.config, self.opts, self.case, True))
        except benchlib.BenchError:
            scalar.close()
            return
        turns = [benchlib.measure_turns(self.config, drivers, self.opts.warm, self.opts.window)
                 for _ in range(2 if self.opts.quick else 3)]
        for driver in drivers:
            driver.close()
        self.scalar_mpps, self.vector_mpps = (benchlib.median(values) for values in zip(*turns))
        self.vectorized = int(self.vector_mpps > self.scalar_mpps * 1.02)
        if self.config.verbose:
            print("# %s: stock scalar %.3f, vectorized %.3f Mpps" % (
                self.case[0], self.scalar_mpps, self.vector_mpps), file=sys.stderr)

    def run(self):
        """Measure it. @return the record for the JSON file, with every reading."""
        self.calibrate()
        pairs = benchlib.Comparison(self.config, self.opts, self.stock, self.vireo).run()
        return {"case": self.case[0], "stock": benchlib.median(pairs.base),
                "vireo": benchlib.median(pairs.other), "ratio": pairs.ratio(),
                "vectorized": self.vectorized, "stock_scalar": self.scalar_mpps,
                "stock_vectorized": self.vector_mpps, "stock_all": pairs.base,
                "vireo_all": pairs.other}


def parse_args():
    """The command line."""
    parser = argparse.ArgumentParser(prog="net_vs_stock.sh", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    benchlib.common_args(parser)
    parser.add_argument("--self", action="store_true",
                        help="stock against stock: shows how noisy this machine is")
    parser.add_argument("--min-worst", type=float, default=0, metavar="R",
                        help="fail when a case is below this ratio")
    parser.add_argument("--min-geomean", type=float, default=0, metavar="R",
                        help="fail when the geometric mean is below this ratio")
    return benchlib.pair_args(parser)


def run():
    """@return exit status."""
    opts = parse_args()
    chosen = benchlib.choose_cases(opts.cases)
    if opts.list:
        print("\n".join(case[0] for case in chosen))
        return 0
    config = benchlib.make_config(opts)
    print("# far end %s, %s, %d pairs of %.1f s" % (opts.peer, config.memory_text(), opts.pairs,
                                                  opts.window), file=sys.stderr)
    records = []
    for case in chosen:
        record = Case(config, opts, case).run()
        records.append(record)
        print("case=%(case)s stock=%(stock).3f vireo=%(vireo).3f ratio=%(ratio).3f" % record,
              flush=True)
    worst = min(record["ratio"] for record in records)
    mean = benchlib.geomean([record["ratio"] for record in records])
    print("worst=%.3f geomean=%.3f" % (worst, mean), flush=True)
    benchlib.write_json(opts.json, {
        "peer": opts.peer, "hugepages": config.hugepages, "pairs": opts.pairs, "cases": records,
        "worst": worst, "geomean": mean})
    return 0 if worst >= opts.min_worst and mean >= opts.min_geomean else 1


if __name__ == "__main__":
    benchlib.run_main("net_vs_stock", run)
