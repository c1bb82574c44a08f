# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Vireo Authors
"""examples/l2fwd, built as a user would with `pkg-config vireo`, forwards between two ports.

Far end: one testpmd with two net_vhost ports. What it sends on one has to come back on the other.
"""

import os

import harness as h


def build():
    """Build with the example's own Makefile; return the program."""
    h.require_program("make")
    folder = h.work_path("l2fwd")
    os.mkdir(folder)
    source = os.path.join(h.TOP, "examples", "l2fwd")
    h.run_build(["make", "-f", os.path.join(source, "Makefile"), "VPATH=" + source,
                 "CFLAGS=-O2 -Wall -Wextra -Werror", "LDFLAGS=" + " ".join(h.link_folders())],
                folder)
    return os.path.join(folder, "l2fwd")


def check():
    program = build()
    paths = [h.new_socket() for _ in range(2)]
    far = h.Testpmd("vhost", [h.vhost_vdev(p, index=i) for i, p in enumerate(paths)],
                    ["--rxd=1024", "--txd=1024", "--no-flush-rx"], ready=False)
    for path in paths:
        h.wait_socket(path, process=far)
    argv = [program, "--lcores", "0@%d" % h.cpu(1), "--no-pci", "--no-telemetry",
            "--file-prefix", "%s_l2fwd" % h.PREFIX] + h.memory_args()
    for i, path in enumerate(paths):
        argv += ["--vdev", h.driver_vdev(path, index=i, packed_vq=i, queue_size=1024)]
    near = h.Process([h.require_program("stdbuf"), "-oL"] + argv + ["--", "-s", "60"], "l2fwd")
    far.wait_ready()
    near.wait_text("port 1: ", 15)
    h.wait_until(lambda: far.link_up(0) and far.link_up(1), 5, "both links up")
    far.cmd("set fwd io")
    far.cmd("set burst 8")
    far.cmd("start tx_first 32")
    # On a loaded machine a lap takes as long as two time slices of the scheduler.
    h.wait_until(lambda: far.stats(0)["RX-packets"] > 32 * 8 * 4, 8, "four laps")
    dropped = far.stop()["TX-dropped"]
    h.expect(dropped == 0, "vhost dropped %d packets" % dropped)
    far.cmd("set fwd rxonly")
    far.cmd("start")
    h.wait_until(lambda: far.stats(0)["TX-packets"] == far.stats(1)["RX-packets"] and
                 far.stats(1)["TX-packets"] == far.stats(0)["RX-packets"], 3,
                 "all packets forwarded")
    nb = [far.stats(i)["RX-packets"] for i in range(2)]
    h.expect(min(nb) > 0, "%d and %d packets came back" % tuple(nb))
    near.popen.terminate()
    status = near.wait_end(10)
    h.expect(status == 0, "l2fwd: status %s: %s" % (status, near.tail()))
    h.expect("port 0: RX-packets: %d" % nb[1] in near.text, "l2fwd's counters: " + near.tail(2))
    far.quit()
    return "%d and %d packets, none lost" % tuple(nb)


def main():
    suite = h.Suite("net_l2fwd")
    suite.run("examples/l2fwd", check)
    suite.finish()


if __name__ == "__main__":
    main()
