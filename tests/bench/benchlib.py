# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Vireo Authors
"""Processes of the comparisons in this folder: stock testpmd, vireo-perf's null device,
and how much of a window they really had of their CPU.

The driver's lcore runs on one CPU, the far end's on another; each control thread
shares its process's CPU and sleeps while packets flow.
"""

import argparse
import atexit
import ctypes
import fcntl
import json
import os
import pty
import re
import select
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import termios
import time

LIBC = ctypes.CDLL(None)
PR_SET_PDEATHSIG = 1
PROMPT = "testpmd> "
COMMAND_TIMEOUT_S = 15
QUIT_TIMEOUT_S = 8
LOCK_ALONE_S = 4
LOCK_SHARED_S = 90
STEAL_MAX = 0.01
MULTI_SEGS = "0x8000"


class BenchError(Exception):
    """Something that makes a measurement impossible; the text says what was expected."""


def end_on_signals():
    """SIGTERM and SIGHUP end the program as an exception does, and its children with it."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda signum, frame: sys.exit(128 + signum))


def top_dir():
    """The project's tree, wherever it was cloned to."""
    return os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Config:
    """What the comparisons share: where things are, which CPUs, which memory."""

    def __init__(self, build=None, lock=None, verbose=False, max_wait=0.06):
        self.build = os.path.abspath(build or os.path.join(top_dir(), "build"))
        self.lock = lock
        self.verbose = verbose
        self.max_wait = max_wait
        self.timed = True  # False: what is measured is not time
        self.testpmd = shutil.which("dpdk-testpmd")
        if self.testpmd is None:
            raise BenchError("dpdk-testpmd is not in PATH: run scripts/setup.sh")
        cpus = sorted(os.sched_getaffinity(0))
        if len(cpus) < 2:
            raise BenchError("two CPUs are needed, this process may use %d" % len(cpus))
        self.driver_cpu, self.far_cpu = cpus[0], cpus[1]
        self.hugepages = free_hugepages_mb() >= 1200
        self.folder = tempfile.mkdtemp(prefix="vireo-bench-")
        atexit.register(shutil.rmtree, self.folder, True)
        self.counter = 0

    def perf(self):
        """vireo-perf of the build folder."""
        path = os.path.join(self.build, "app", "perf", "vireo-perf")
        if not os.access(path, os.X_OK):
            raise BenchError("%s is missing: run scripts/setup.sh, or give --build" % path)
        return path

    def plugin_env(self):
        """Environment in which stock programs find the plugin by its bare name: EAL
        refuses a path with a parent folder that anybody may write to."""
        plugin_dir = os.path.join(self.build, "drivers", "net", "vireo")
        if not os.path.exists(os.path.join(plugin_dir, "librte_net_vireo.so")):
            raise BenchError("%s/librte_net_vireo.so is missing: run scripts/setup.sh, or give"
                             " --build" % plugin_dir)
        env = dict(os.environ)
        env["LD_LIBRARY_PATH"] = ":".join(
            [plugin_dir, os.path.join(self.build, "lib")] +
            [p for p in (env.get("LD_LIBRARY_PATH"),) if p])
        return env

    def next_name(self, stem):
        """A name that no other process of this run has."""
        self.counter += 1
        return "%s-%d-%d" % (stem, os.getpid(), self.counter)

    def memory_args(self, megabytes):
        """EAL's memory arguments."""
        if self.hugepages:
            return ["--in-memory", "--single-file-segments", "-m", str(megabytes)]
        return ["--no-huge", "--no-shconf", "-m", str(megabytes)]

    def memory_text(self):
        """Which memory that is, for the reader."""
        return "hugepages" if self.hugepages else "no hugepages (--no-huge)"


def free_hugepages_mb():
    """Free hugepages of the default size, in MB."""
    values = {}
    with open("/proc/meminfo", encoding="ascii") as meminfo:
        for line in meminfo:
            name, value = line.split(":")
            values[name] = int(value.split()[0])
    return values.get("HugePages_Free", 0) * values.get("Hugepagesize", 0) // 1024


def prepare_child(first):
    """In the child, before exec: end when this program ends, however it does; and run
    first, before whatever else this machine does, where that is allowed."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if not first:
        return
    try:
        os.setpriority(os.PRIO_PROCESS, 0, -20)
    except PermissionError:
        pass


class Child:
    """A process of ours on a pseudo-terminal, ended with us whatever happens."""

    def __init__(self, config, args, env=None):
        self.args = args
        self.output = ""
        self.master, slave = pty.openpty()
        attrs = termios.tcgetattr(slave)
        attrs[1] &= ~termios.OPOST
        attrs[3] &= ~(termios.ECHO | termios.ICANON)
        termios.tcsetattr(slave, termios.TCSANOW, attrs)
        self.process = subprocess.Popen(args, stdin=slave, stdout=slave, stderr=slave, env=env,
                                        start_new_session=True, close_fds=True,
                                        preexec_fn=lambda: prepare_child(config.timed))
        os.close(slave)
        atexit.register(self.kill)

    def read(self, timeout_s):
        """Take what has been printed within timeout_s; False at the end of the output."""
        ready, _, _ = select.select([self.master], [], [], timeout_s)
        if not ready:
            return True
        try:
            data = os.read(self.master, 65536)
        except OSError:
            return False
        self.output += data.decode("utf-8", "replace")
        return bool(data)

    def wait_for(self, text, timeout_s, start=0):
        """Read until text stands behind position start of the output."""
        until = time.monotonic() + timeout_s
        while text not in self.output[start:]:
            left = until - time.monotonic()
            if left <= 0:
                self.fail("did not print %r within %d s" % (text, timeout_s))
            if not self.read(min(left, 0.2)):
                self.fail("ended before it printed %r" % text)

    def fail(self, why):
        """End with the process's last words."""
        self.kill()
        raise BenchError("%s\n%s\nlast output:\n%s" % (
            why, " ".join(self.args), "\n".join(self.output.splitlines()[-30:])))

    def pause(self):
        """Stop it where it is: it takes no CPU."""
        self.process.send_signal(signal.SIGSTOP)

    def go_on(self):
        """Undo pause()."""
        self.process.send_signal(signal.SIGCONT)

    def drain_until_exit(self, timeout_s):
        """Read on until it has ended; False when it has not in time."""
        until = time.monotonic() + timeout_s
        while time.monotonic() < until:
            if not self.read(0.1) or self.process.poll() is not None:
                try:
                    self.process.wait(max(0.1, until - time.monotonic()))
                except subprocess.TimeoutExpired:
                    return False
                while self.master >= 0 and self.read(0) and select.select(
                        [self.master], [], [], 0)[0]:
                    pass
                return True
        return False

    def interrupt(self):
        """Ask it to end, as Ctrl-C does; kill it when it does not."""
        if self.process.poll() is None:
            self.go_on()
            self.process.send_signal(signal.SIGINT)
            self.drain_until_exit(QUIT_TIMEOUT_S)
        self.kill()

    def kill(self):
        """End it now; harmless when it has ended."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        if self.master >= 0:
            os.close(self.master)
            self.master = -1
        atexit.unregister(self.kill)


class Testpmd(Child):
    """Stock dpdk-testpmd with one port, told what to do through its prompt."""

    def __init__(self, config, cpu, vdev, options, eal=(), env=None, wrapper=()):
        args = list(wrapper) + [config.testpmd, "--no-pci", "--no-telemetry",
                                "--file-prefix=" + config.next_name("bench"),
                                "--lcores", "0@%d,1@%d" % (cpu, cpu)]
        args += config.memory_args(256) + list(eal) + ["--vdev", vdev, "--", "-i"]
        args += ["--nb-cores=1", "--total-num-mbufs=32768", "--txd=1024", "--rxd=1024"]
        args += list(options)
        super().__init__(config, args, env)
        # Without priority, and under valgrind, everything is slower.
        self.timeout_s = COMMAND_TIMEOUT_S * (1 if config.timed else 8)
        self.wait_for(PROMPT, self.timeout_s)

    def command(self, text):
        """Run one command and return what it printed."""
        self.read(0)
        start = len(self.output)
        os.write(self.master, text.encode() + b"\n")
        self.wait_for(PROMPT, self.timeout_s, start)
        return self.output[start:]

    def link_up(self):
        """Wait until the port's link is up."""
        until = time.monotonic() + self.timeout_s
        while "Link status: up" not in self.command("show port info 0"):
            if time.monotonic() > until:
                self.fail("the link did not come up within %d s" % self.timeout_s)
            time.sleep(0.05)

    def port_stats(self):
        """The counters of port 0, and rates since they were last asked for."""
        text = self.command("show port stats 0")
        stats = {}
        for name in ("RX-packets", "RX-bytes", "TX-packets", "TX-bytes", "Rx-pps", "Tx-pps"):
            match = re.search(name + r":\s+(\d+)", text)
            if match is None:
                self.fail("show port stats did not print %s" % name)
            stats[name] = int(match.group(1))
        return stats

    def quit(self):
        """End it the way a user does."""
        if self.process.poll() is None:
            try:
                os.write(self.master, b"quit\n")
                self.drain_until_exit(QUIT_TIMEOUT_S)
            except OSError:
                pass
        self.kill()


class NullDevice(Child):
    """vireo-perf netdev."""

    def __init__(self, config, socket_path, mode, options=()):
        # It has no packets of its own: little memory does.
        memory = (["--in-memory", "-m", "32"] if config.hugepages else ["--no-huge", "--no-shconf", "-m", "64"])
        args = [config.perf(), "--no-pci", "--no-telemetry",
                "--file-prefix=" + config.next_name("null"),
                "--lcores", "0@%d" % config.far_cpu] + memory
        args += ["--", "netdev", "--socket-path", socket_path, "--mode", mode] + list(options)
        super().__init__(config, args)
        self.wait_for("listening on", COMMAND_TIMEOUT_S)


class VhostFarEnd:
    """A testpmd with net_vhost."""

    def __init__(self, config, socket_path, receives):
        mode = "rxonly" if receives else "txonly"
        self.testpmd = Testpmd(config, config.far_cpu,
                               "net_vhost0,iface=%s,queues=1,client=0" % socket_path,
                               ["--no-flush-rx", "--forward-mode=" + mode])
        self.key = "RX-packets" if receives else "TX-packets"

    def start(self):
        """Begin to poll."""
        self.testpmd.command("start")

    def stop(self):
        """Stop polling."""
        self.testpmd.command("stop")

    def packets(self):
        """Packets it has counted so far."""
        return self.testpmd.port_stats()[self.key]

    def worker(self):
        """The process whose lcore polls."""
        return self.testpmd

    def close(self):
        """End it."""
        self.testpmd.quit()


class NullFarEnd:
    """A null device. Paused, it takes no CPU."""

    def __init__(self, config, socket_path, receives):
        self.device = NullDevice(config, socket_path, "sink" if receives else "source")
        self.key = "tx-consumed" if receives else "rx-filled"

    def start(self):
        """Begin to poll."""
        self.device.go_on()

    def stop(self):
        """Stop polling."""
        self.device.pause()

    def packets(self):
        """Packets it has counted; ends it, since it tells then."""
        self.device.interrupt()
        match = re.search(self.key + r" (\d+),", self.device.output)
        if match is None:
            self.device.fail("did not report %s" % self.key)
        return int(match.group(1))

    def worker(self):
        """The process whose lcore polls."""
        return self.device

    def close(self):
        """End it."""
        self.device.interrupt()


FAR_ENDS = {"vhost": VhostFarEnd, "null": NullFarEnd}


def busiest_thread(pid):
    """Thread of a process that has run longest: (id, run ns, wait ns); None if unknown."""
    best = None
    try:
        for tid in os.listdir("/proc/%d/task" % pid):
            with open("/proc/%d/task/%s/schedstat" % (pid, tid), encoding="ascii") as stat:
                run_ns, wait_ns = [int(x) for x in stat.read().split()[:2]]
            if best is None or run_ns > best[1]:
                best = (tid, run_ns, wait_ns)
    except (OSError, ValueError):
        return None
    return best


def steal_ticks():
    """Clock ticks that the hypervisor took from all CPUs so far."""
    with open("/proc/stat", encoding="ascii") as stat:
        fields = stat.readline().split()
    return int(fields[8]) if len(fields) > 8 else 0


class Window:
    """How undisturbed a stretch of time was for the lcores of some processes."""

    def __init__(self, children):
        self.pids = [child.process.pid for child in children]
        self.begin = time.monotonic()
        self.steal = steal_ticks()
        self.waits = [busiest_thread(pid) for pid in self.pids]

    def disturbed(self, max_wait):
        """None, or what disturbed it."""
        seconds = time.monotonic() - self.begin
        stolen = (steal_ticks() - self.steal) / os.sysconf("SC_CLK_TCK")
        if stolen > STEAL_MAX * seconds * 2:
            return "%.1f %% stolen by the hypervisor" % (100 * stolen / seconds / 2)
        for pid, before in zip(self.pids, self.waits):
            after = busiest_thread(pid)
            if before is None or after is None or before[0] != after[0]:
                continue
            waited = (after[2] - before[2]) / 1e9
            if waited > max_wait * seconds:
                return "an lcore waited %.1f %% of the time for its CPU" % (
                    100 * waited / seconds)
        return None


class quiet:
    """Hold a lock file, so that others who know of it keep still meanwhile. When sharers
    never let go, share it with them: other measurements are kept out at least, and
    windows that the rest disturbs are found anyway."""

    def __init__(self, path):
        self.path = path
        self.file = None

    def __enter__(self):
        if self.path is not None:
            self.file = open(self.path, "a", encoding="ascii")
            if not self.acquire(fcntl.LOCK_EX, LOCK_ALONE_S):
                self.acquire(fcntl.LOCK_SH, LOCK_SHARED_S)
        return self

    def acquire(self, kind, timeout_s):
        """Whether the lock became ours in time."""
        until = time.monotonic() + timeout_s
        while time.monotonic() < until:
            try:
                fcntl.flock(self.file, kind | fcntl.LOCK_NB)
                return True
            except BlockingIOError:
                time.sleep(0.02)
        return False

    def __exit__(self, *unused):
        if self.file is not None:
            self.file.close()
            self.file = None


class Driver:
    """A testpmd on a driver, and the far end it talks to."""

    def __init__(self, config, peer, vdev, receives, options=(), eal=(), env=None, wrapper=()):
        self.config = config
        self.receives = receives
        self.path = os.path.join(config.folder, config.next_name("sock"))
        self.far = FAR_ENDS[peer](config, self.path, not receives)
        self.far.start()
        mode = "rxonly" if receives else "txonly"
        self.testpmd = Testpmd(config, config.driver_cpu, vdev % self.path,
                               ["--forward-mode=" + mode] + list(options), eal, env, wrapper)
        self.testpmd.link_up()
        self.far.stop()
        self.key = "Rx-pps" if receives else "Tx-pps"
        self.bytes_per_packet = None

    def measure(self, warm_s, window_s):
        """Mpps of one window, and what disturbed it or None."""
        self.far.start()
        self.testpmd.command("start")
        time.sleep(warm_s)
        before = self.testpmd.port_stats()
        window = Window([self.testpmd, self.far.worker()])
        time.sleep(window_s)
        disturbed = window.disturbed(self.config.max_wait)
        after = self.testpmd.port_stats()
        self.testpmd.command("stop")
        self.far.stop()
        way = "RX" if self.receives else "TX"
        packets = after[way + "-packets"] - before[way + "-packets"]
        if packets <= 0:
            self.testpmd.fail("no packet passed within %.1f s" % window_s)
        self.bytes_per_packet = (after[way + "-bytes"] - before[way + "-bytes"]) / packets
        return after[self.key] / 1e6, disturbed

    def close(self):
        """End both; (packets the driver counted, packets the far end counted)."""
        self.far.start()
        way = "RX-packets" if self.receives else "TX-packets"
        mine = self.testpmd.port_stats()[way]
        self.testpmd.quit()
        theirs = self.far.packets()
        self.far.close()
        return mine, theirs


def check_counts(mine, theirs, receives):
    """The two ends agree, save for what was in the rings when it ended."""
    slack = 4096
    sent, got = (theirs, mine) if receives else (mine, theirs)
    if not sent - slack <= got <= sent:
        raise BenchError("the ends disagree: %d packets sent, %d received; expected at most %d"
                         " still in the rings" % (sent, got, slack))


def measure_turns(config, drivers, warm_s, window_s, retries=5):
    """One window of each driver in turn: a list of Mpps. A disturbed turn is repeated."""
    for attempt in range(retries + 1):
        with quiet(config.lock):
            results = [driver.measure(warm_s, window_s) for driver in drivers]
        disturbed = [why for _, why in results if why is not None]
        if not disturbed:
            break
        note = "keeping it" if attempt == retries else "again"
        if config.verbose:
            print("# disturbed: %s; %s" % (disturbed[0], note), file=sys.stderr)
    return [mpps for mpps, _ in results]


class Comparison:
    """Two drivers in turns: a list of readings of each, in Mpps, and their ratios."""

    def __init__(self, config, opts, make_base, make_other):
        self.config, self.opts = config, opts
        self.make_base, self.make_other = make_base, make_other
        self.base, self.other, self.ratios = [], [], []

    def run(self):
        """All pairs, with fresh processes every few, so that where a process happens to
        lie in memory evens out too. @return self."""
        while len(self.ratios) < self.opts.pairs:
            self.run_some(min(self.opts.restart, self.opts.pairs - len(self.ratios)))
        return self

    def run_some(self, nb_pairs):
        """Some pairs, the order changing from pair to pair."""
        base, other = self.make_base(), self.make_other()
        for _ in range(nb_pairs):
            swap = len(self.ratios) % 2 == 1
            order = [other, base] if swap else [base, other]
            results = measure_turns(self.config, order, self.opts.warm, self.opts.window)
            if swap:
                results.reverse()
            self.base.append(results[0])
            self.other.append(results[1])
            self.ratios.append(results[1] / results[0])
        if abs(base.bytes_per_packet - other.bytes_per_packet) > 0.5:
            raise BenchError("%.1f and %.1f bytes a packet: expected the same" % (
                base.bytes_per_packet, other.bytes_per_packet))
        for driver in (base, other):
            mine, theirs = driver.close()
            check_counts(mine, theirs, driver.receives)

    def ratio(self):
        """Median of the ratios of the pairs: what drifts, drifts for both of a pair."""
        return median(self.ratios)


def median(values):
    """Median of a non-empty list."""
    return statistics.median(values)


def geomean(values):
    """Geometric mean of a non-empty list."""
    return statistics.geometric_mean(values)


SIMD_ARGS = ["--force-max-simd-bitwidth=512"]
PLUGIN_ARGS = ["-d", "librte_net_vireo.so"]


def all_cases():
    """(name, receives, devargs, segments) of every case of net_vs_stock."""
    cases = []
    for layout in ("split", "packed"):
        for mrg in (0, 1):
            for order in (0, 1):
                cases.append(("rx-%s-mrg%d-inorder%d" % (layout, mrg, order), True,
                              devargs(layout, mrg, order), 1))
    for layout in ("split", "packed"):
        for order in (0, 1):
            for segs in (1, 4):
                cases.append(("tx-%s-inorder%d-segs%d" % (layout, order, segs), False,
                              devargs(layout, 1, order), segs))
    return cases


def devargs(layout, mrg, order):
    """Device arguments that both drivers understand."""
    return "path=%%s,queues=1,queue_size=1024,packed_vq=%d,mrg_rxbuf=%d,in_order=%d" % (
        layout == "packed", mrg, order)


def testpmd_options(segs):
    """What makes testpmd send packets of that many segments."""
    if segs == 1:
        return []
    return ["--tx-offloads=" + MULTI_SEGS, "--txpkts=" + ",".join(["64"] * segs)]


def choose_cases(pattern):
    """The cases whose name matches a regular expression."""
    chosen = [case for case in all_cases() if pattern.search(case[0])]
    if not chosen:
        raise BenchError("no case matches %r; --list prints them" % pattern.pattern)
    return chosen


def regex(text):
    """Type of an argument that is a regular expression."""
    try:
        return re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError("expected a regular expression: %s" % error)


def common_args(parser):
    """Arguments that all programs of this folder have."""
    parser.add_argument("--peer", choices=sorted(FAR_ENDS), default="vhost",
                        help="far end: stock net_vhost, or a device that copies nothing")
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds")
    parser.add_argument("--cases", type=regex, default=regex(""), metavar="REGEX",
                        help="only cases that match")
    parser.add_argument("--list", action="store_true", help="print the names of the cases")
    parser.add_argument("--json", metavar="FILE", help="also write everything to this file")
    parser.add_argument("--devargs", default="", help="more devargs for net_vireo")
    parser.add_argument("--build", help="build folder (default: build/ of this tree)")
    parser.add_argument("--lock", metavar="FILE", help="hold this lock file while measuring")
    parser.add_argument("--max-wait", type=float, default=0.06, metavar="SHARE",
                        help="repeat a turn in which an lcore waited for its CPU for more than"
                        " this share of the time (default 0.06)")
    parser.add_argument("-v", "--verbose", action="store_true", help="say more on stderr")


def make_config(opts):
    """The Config that the common arguments ask for."""
    return Config(opts.build, opts.lock, opts.verbose, opts.max_wait)


def pair_args(parser):
    """Parse the arguments of a program that compares in pairs."""
    parser.add_argument("--pairs", type=int, default=None,
                        help="pairs a comparison (default 7, quick 3)")
    parser.add_argument("--restart", type=int, default=3, metavar="N",
                        help="fresh processes every N pairs (default 3)")
    parser.add_argument("--window", type=float, default=None,
                        help="seconds measured (default 1, quick 0.5)")
    opts = parser.parse_args()
    if opts.pairs is None:
        opts.pairs = 3 if opts.quick else 7
    if opts.window is None:
        opts.window = 0.5 if opts.quick else 1.0
    opts.warm = 0.2
    if opts.pairs < 1 or opts.restart < 1 or opts.window <= 0:
        parser.error("--pairs, --restart and --window: expected more than 0")
    return opts


def vireo_driver(config, opts, case, extra="", eal=()):
    """A Driver on net_vireo for a case of all_cases()."""
    more = "".join("," + text for text in (extra, opts.devargs) if text)
    return Driver(config, opts.peer, "net_vireo0," + case[2] + more, case[1],
                  testpmd_options(case[3]), PLUGIN_ARGS + list(eal), config.plugin_env())


def stock_driver(config, opts, case, vectorized=False):
    """A Driver on stock net_virtio_user for a case of all_cases()."""
    return Driver(config, opts.peer,
                  "net_virtio_user0," + case[2] + (",vectorized=1" if vectorized else ""), case[1],
                  testpmd_options(case[3]), SIMD_ARGS if vectorized else [])


def write_json(path, content):
    """Write a result file, if one was asked for."""
    if path:
        with open(path, "w", encoding="utf-8") as out:
            json.dump(content, out, indent=1)
            out.write("\n")


def run_main(name, function):
    """Run a program and turn what goes wrong into one message."""
    end_on_signals()
    try:
        sys.exit(function())
    except BenchError as error:
        print("%s: error: %s" % (name, error), file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
