# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Vireo Authors
"""What net_vireo's pools of indirect tables are worth on packets of four segments.

The same driver in turns with indirect=pool and with malloc (a table allocated for each
packet), mempool (a table taken from an rte_mempool) and off (direct chains); and the
default policy (auto) with pool and with off. One line a comparison, medians in Mpps,
the ratio being the median of the pairs' ratios:

    case=tx-split-inorder0-segs4 mode=pool mpps=3.10 base=malloc base_mpps=2.51 ratio=1.235

The last line has the geometric means of pool against each of the others, and the worst
ratio of the default policy against the better of pool and off:

    pool/malloc=1.21 pool/mempool=1.07 pool/off=0.99 auto/best=0.991
"""

import argparse
import sys

import benchlib

COMPARISONS = (("pool", "malloc"), ("pool", "mempool"), ("pool", "off"), ("auto", "pool"),
               ("auto", "off"))


def compare(config, opts, case, mode, base):
    """One comparison, as a record for the JSON file."""
    def make(name):
        extra = "" if name == "auto" else "indirect=" + name
        return lambda: benchlib.vireo_driver(config, opts, case, extra)

    pairs = benchlib.Comparison(config, opts, make(base), make(mode)).run()
    return {"case": case[0], "mode": mode, "mpps": benchlib.median(pairs.other), "base": base,
            "base_mpps": benchlib.median(pairs.base), "ratio": pairs.ratio(),
            "mode_all": pairs.other, "base_all": pairs.base}


def auto_against_best(records):
    """The worst case of the default policy: the better of pool and off is the one it
    loses more against."""
    return min(record["ratio"] for record in records if record["mode"] == "auto")


def run():
    """@return exit status."""
    parser = argparse.ArgumentParser(prog="indirect_modes.sh", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    benchlib.common_args(parser)
    opts = benchlib.pair_args(parser)
    chosen = [case for case in benchlib.choose_cases(opts.cases) if case[3] > 1]
    if not chosen:
        raise benchlib.BenchError("no case of several segments matches; --list prints them")
    if opts.list:
        print("\n".join(case[0] for case in chosen))
        return 0
    config = benchlib.make_config(opts)
    print("# far end %s, %s, %d pairs of %.1f s" % (opts.peer, config.memory_text(), opts.pairs,
                                                  opts.window), file=sys.stderr)
    records = []
    for case in chosen:
        for mode, base in COMPARISONS:
            record = compare(config, opts, case, mode, base)
            records.append(record)
            print("case=%(case)s mode=%(mode)s mpps=%(mpps).3f base=%(base)s"
                  " base_mpps=%(base_mpps).3f ratio=%(ratio).3f" % record, flush=True)
    means = {"pool/" + base: benchlib.geomean(
        [r["ratio"] for r in records if r["mode"] == "pool" and r["base"] == base])
             for base in ("malloc", "mempool", "off")}
    means["auto/best"] = auto_against_best(records)
    print(" ".join("%s=%.3f" % item for item in means.items()), flush=True)
    benchlib.write_json(opts.json, {"peer": opts.peer, "hugepages": config.hugepages,
                                    "comparisons": records, "summary": means})
    return 0


if __name__ == "__main__":
    benchlib.run_main("indirect_modes", run)
