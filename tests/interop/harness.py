# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Vireo Authors
"""What the interoperability tests share: processes of stock DPDK, bounded in time, and results.

A test is a program built around `Suite`: it registers cases, runs them one after another and
prints a line for each, then `N passed, N failed, N skipped`. Nothing here needs more than
Debian's python3.

Environment:
  VIREO_BUILD   build folder, default <tree>/build
  DRIVER        net_vireo (default), or net_virtio_user to try a test itself on the stock driver
  VIREO_MEMORY  huge or nohuge; default: hugepages when enough are free and we may use them
  VIREO_KEEP    a folder: logs of failed cases are copied there
"""

import atexit
import ctypes
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("VIREO_BUILD", os.path.join(TOP, "build"))
DRIVER = os.environ.get("DRIVER", "net_vireo")
PLUGIN = "librte_net_vireo.so"
PLUGIN_DIR = os.path.join(BUILD, "drivers", "net", "vireo")
# Devargs that stock virtio-user does not know.
OUR_DEVARGS = ("indirect", "event_idx", "check_mem")

# On a machine that is loaded threefold it takes that long.
START_S = 60.0
COMMAND_S = 20.0
MEMORY_MB = 256


class Failure(Exception):
    """A case found a fault; the text says which."""


class Skip(Exception):
    """A case cannot run here; the text says why."""


def expect(condition, text):
    if not condition:
        raise Failure(text)


def wait_until(condition, timeout_s, text):
    """Poll `condition` until it holds; Failure when it does not within the bound."""
    end = time.monotonic() + timeout_s
    while True:
        if condition():
            return
        if time.monotonic() > end:
            raise Failure("%s: not within %.1f s" % (text, timeout_s))
        time.sleep(0.01)


# --- the machine ---------------------------------------------------------------


def hugepages_free():
    try:
        with open("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages") as f:
            return int(f.read())
    except OSError:
        return 0


def why_no_hugepages(megabytes):
    """None when `megabytes` of 2 MB pages can be had, else the reason."""
    if os.environ.get("VIREO_MEMORY") == "nohuge":
        return "VIREO_MEMORY=nohuge"
    if os.geteuid() != 0:
        return "needs root for hugepages"
    free = hugepages_free()
    if free * 2 < megabytes:
        return "needs %d MB of free 2 MB hugepages, there are %d MB" % (megabytes, free * 2)
    return None


def use_hugepages():
    wanted = os.environ.get("VIREO_MEMORY")
    if wanted not in (None, "", "huge", "nohuge"):
        sys.exit("VIREO_MEMORY=%s: expected huge or nohuge" % wanted)
    # Two processes at a time, and some more for whoever else is running.
    return wanted == "huge" or (wanted != "nohuge" and why_no_hugepages(3 * MEMORY_MB) is None)


HUGE = use_hugepages()
CPUS = sorted(os.sched_getaffinity(0))


def cpu(index):
    return CPUS[index % len(CPUS)]


def memory_args(megabytes=MEMORY_MB):
    # Others may have taken the pages meanwhile.
    if HUGE and (os.environ.get("VIREO_MEMORY") == "huge" or
                 why_no_hugepages(megabytes) is None):
        return ["--in-memory", "--single-file-segments", "-m", str(megabytes)]
    return ["--no-huge", "-m", str(megabytes)]


def require_program(name):
    path = shutil.which(name)
    if path is None:
        raise Skip("%s is not installed" % name)
    return path


def environment():
    env = dict(os.environ)
    # EAL refuses plugins below a world-writable folder unless the linker finds them by itself.
    folders = [PLUGIN_DIR, os.path.join(BUILD, "lib")]
    if env.get("LD_LIBRARY_PATH"):
        folders.append(env["LD_LIBRARY_PATH"])
    env["LD_LIBRARY_PATH"] = ":".join(folders)
    if os.geteuid() != 0:
        env["XDG_RUNTIME_DIR"] = WORK
    return env


# --- programs of our own -------------------------------------------------------


def link_folders():
    return ["-L" + PLUGIN_DIR, "-L" + os.path.join(BUILD, "lib")]


def run_build(argv, folder=None):
    """Run a compiler or make against the build folder, through meson's uninstalled .pc files."""
    for name in ("cc", "pkg-config"):
        require_program(name)
    if DRIVER != "net_vireo":
        raise Skip("the program is linked with net_vireo")
    env = dict(environment(), PKG_CONFIG_PATH=os.path.join(BUILD, "meson-uninstalled"))
    done = subprocess.run(argv, cwd=folder, env=env, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=120, check=False)
    text = done.stdout.decode(errors="replace")
    expect(done.returncode == 0, "%s: %s" % (argv[0], text[-600:]))
    return text


def build_program(source):
    """Compile one C file as a user would, with `pkg-config vireo`; return the program."""
    program = work_path(os.path.basename(source).replace(".c", ""))
    flags = run_build(["pkg-config", "--cflags", "--libs", "vireo"]).split()
    run_build(["cc", "-O2", "-Wall", "-Wextra", "-Werror", "-o", program, source] +
              link_folders() + flags)
    return program


# --- temporary files and clean-up ----------------------------------------------

WORK = tempfile.mkdtemp(prefix="vireo-interop-")
PREFIX = "vireo_%d" % os.getpid()
_running = []
_serial = [0]


def serial():
    _serial[0] += 1
    return _serial[0]


def work_path(name):
    return os.path.join(WORK, name)


def new_socket():
    return work_path("s%d" % serial())


def runtime_dir():
    """Where EAL keeps the files of each process."""
    return os.path.join("/var/run" if os.geteuid() == 0 else WORK, "dpdk")


def _remove_runtime_files():
    for folder, is_ours in ((runtime_dir(), True), ("/dev/hugepages", HUGE)):
        if not is_ours or not os.path.isdir(folder):
            continue
        for name in os.listdir(folder):
            if name.startswith(PREFIX + "_"):
                path = os.path.join(folder, name)
                if os.path.isdir(path):
                    shutil.rmtree(path, ignore_errors=True)
                else:
                    os.unlink(path)


@atexit.register
def clean_up():
    for process in list(_running):
        process.kill()
    shutil.rmtree(WORK, ignore_errors=True)
    _remove_runtime_files()


def _on_signal(number, _frame):
    sys.exit(128 + number)


for _number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(_number, _on_signal)


# --- processes -----------------------------------------------------------------


def _die_with_parent():
    # PR_SET_PDEATHSIG: nothing outlives a harness that was killed.
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


class Process:
    """A child whose output is gathered by a thread, stopped by its own pid."""

    def __init__(self, argv, name, stdin=subprocess.DEVNULL):
        self.name = name
        self.argv = argv
        self.text = ""
        self.log = work_path("%s-%d.log" % (name, serial()))
        self.lock = threading.Condition()
        self.popen = subprocess.Popen(
            argv, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env=environment(), preexec_fn=_die_with_parent, cwd=WORK)
        _running.append(self)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        with open(self.log, "wb") as log:
            log.write((" ".join(self.argv) + "\n").encode())
            while True:
                data = os.read(self.popen.stdout.fileno(), 65536)
                if not data:
                    break
                log.write(data)
                log.flush()
                with self.lock:
                    self.text += data.decode(errors="replace").replace("\r", "")
                    self.lock.notify_all()
        with self.lock:
            self.lock.notify_all()

    @property
    def pid(self):
        return self.popen.pid

    def alive(self):
        return self.popen.poll() is None

    def wait_text(self, pattern, timeout_s, start=0):
        """Wait for a regular expression in the output from `start` on; return the match."""
        end = time.monotonic() + timeout_s
        with self.lock:
            while True:
                match = re.compile(pattern).search(self.text, start)
                if match:
                    return match
                left = end - time.monotonic()
                if left <= 0 or not self.reader.is_alive():
                    break
                self.lock.wait(min(left, 0.2))
            match = re.compile(pattern).search(self.text, start)
            if match:
                return match
        state = "still runs" if self.alive() else "ended with %s" % self.popen.returncode
        raise Failure("%s: no '%s' within %.1f s; it %s; last output: %s" % (
            self.name, pattern, timeout_s, state, self.tail()))

    def tail(self, nb_lines=4):
        lines = [line.strip() for line in self.text.splitlines() if line.strip()]
        return " | ".join(lines[-nb_lines:])

    def complaints(self, nb_lines=6):
        """The last lines that speak of trouble."""
        lines = [line.strip() for line in self.text.splitlines()
                 if re.search(r"(?i)fail|error|invalid|cannot|can't|refuse|expected|doesn't", line)
                 and not line.startswith("Invalid port 6")]
        return " | ".join(lines[-nb_lines:]) or self.tail()

    def wait_end(self, timeout_s):
        """Return the exit status; Failure when the process hangs."""
        try:
            status = self.popen.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.kill()
            raise Failure("%s: hangs, still running after %.1f s; last output: %s" % (
                self.name, timeout_s, self.tail())) from None
        self._gone()
        return status

    def kill(self, number=signal.SIGKILL):
        if self.alive():
            self.popen.send_signal(number)
        try:
            self.popen.wait(5)
        except subprocess.TimeoutExpired:
            pass
        self._gone()

    def _gone(self):
        if self in _running:
            _running.remove(self)
        self.reader.join(2)


class Testpmd(Process):
    """Stock dpdk-testpmd, spoken to through its prompt."""

    def __init__(self, name, vdevs, args=(), eal=(), cpu_index=0, nb_cores=1, plugin=None,
                 memory_mb=MEMORY_MB, telemetry=False, nb_mbufs=8192, memory=None, ready=True):
        lcores = ",".join("%d@%d" % (i, cpu(cpu_index)) for i in range(nb_cores + 1))
        self.prefix = "%s_%s%d" % (PREFIX, name, serial())
        argv = [require_program("dpdk-testpmd"), "--lcores", lcores, "--no-pci",
                "--file-prefix", self.prefix]
        if not telemetry:
            argv.append("--no-telemetry")
        argv += memory if memory is not None else memory_args(memory_mb)
        if plugin or (plugin is None and any(v.startswith("net_vireo") for v in vdevs)):
            argv += ["-d", PLUGIN]
        for vdev in vdevs:
            argv += ["--vdev", vdev]
        argv += list(eal) + ["--", "-i", "--nb-cores=%d" % nb_cores,
                             "--total-num-mbufs=%d" % nb_mbufs] + list(args)
        argv = [require_program("stdbuf"), "-oL"] + argv
        super().__init__(argv, name, stdin=subprocess.PIPE)
        if ready:
            self.wait_ready()

    def wait_ready(self, timeout_s=START_S):
        self.sync(0, timeout_s)
        # testpmd goes on when a port does not start.
        match = re.search(r"Start ports failed|Fail to configure port.*", self.text)
        expect(match is None, "%s: %s" % (self.name, self.complaints()))

    def testpmd_pid(self):
        # stdbuf execs testpmd: the pid is its own.
        return self.popen.pid

    def send(self, command):
        try:
            self.popen.stdin.write((command + "\n").encode())
            self.popen.stdin.flush()
        except OSError:
            raise Failure("%s: gone before '%s'; status %s; last output: %s" % (
                self.name, command, self.popen.poll(), self.tail())) from None

    def sync(self, start, timeout_s):
        """Wait until all commands so far are done; return what was printed since `start`.

        The prompt is no mark to wait for: it is written a character at a time, with messages of
        other threads in between. An impossible port number comes back in one piece.
        """
        number = 60000 + serial() % 5000
        self.send("show port info %d" % number)
        match = self.wait_text(r"Invalid port %d\n" % number, timeout_s, start)
        return self.text[start:match.start()]

    def cmd(self, command, timeout_s=COMMAND_S):
        """Run a command; return what was printed until it was done."""
        start = len(self.text)
        self.send(command)
        output = self.sync(start, timeout_s)
        if "Bad arguments" in output or "Command not found" in output:
            raise Failure("%s: testpmd refused '%s': %s" % (self.name, command, output.strip()))
        return output

    def stats(self, port=0):
        """Port counters by testpmd's own names, e.g. stats()['RX-packets']."""
        text = self.cmd("show port stats %d" % port)
        found = {k: int(v) for k, v in re.findall(r"([RT]X-[a-z]+):\s+(\d+)", text)}
        expect("RX-packets" in found, "%s: no counters in: %s" % (self.name, text))
        return found

    def xstats(self, port=0):
        text = self.cmd("show port xstats %d" % port)
        return {k: int(v) for k, v in re.findall(r"(?m)^(\w+): (\d+)$", text)}

    def stop(self):
        """`stop`; return the accumulated forwarding counters (dropped ones included)."""
        text = self.cmd("stop")
        accumulated = text[text.find("Accumulated"):]
        return {k: int(v) for k, v in re.findall(r"([RT]X-[a-z]+):\s+(\d+)", accumulated)}

    def link_up(self, port=0):
        return "Link status: up" in self.cmd("show port info %d" % port)

    def quit(self, timeout_s=10.0):
        """Leave orderly; Failure when that takes too long or the status is not 0."""
        if self.alive():
            self.send("quit")
        status = self.wait_end(timeout_s)
        expect(status == 0, "%s: ended with status %s; last output: %s" % (
            self.name, status, self.tail()))


# --- devices -------------------------------------------------------------------


def driver_vdev(path, index=0, driver=None, **devargs):
    """The --vdev string of the driver under test, or of `driver`."""
    driver = driver or DRIVER
    words = ["%s%d" % (driver, index), "path=" + path]
    for key, value in devargs.items():
        if value is None or (driver != "net_vireo" and key in OUR_DEVARGS):
            continue
        words.append("%s=%s" % (key, value))
    return ",".join(words)


def vhost_vdev(path, index=0, **devargs):
    words = ["net_vhost%d" % index, "iface=" + path]
    words += ["%s=%s" % item for item in devargs.items() if item[1] is not None]
    return ",".join(words)


def wait_socket(path, timeout_s=START_S, process=None):
    """Wait until something listens on a UNIX socket, without connecting to it."""
    def listening():
        if process is not None and not process.alive():
            raise Failure("%s: ended: %s" % (process.name, process.complaints()))
        with open("/proc/net/unix") as f:
            # Column 4, flags: 00010000 is a listening socket.
            return any(line.split()[3] == "00010000" and line.rstrip().endswith(" " + path)
                       for line in f if line.count(" ") >= 7 and path in line)
    wait_until(listening, timeout_s, "nobody listens on %s" % os.path.basename(path))


def telemetry(process, command, timeout_s=5.0):
    """Ask a process's telemetry socket; return the decoded answer."""
    path = os.path.join(runtime_dir(), process.prefix, "dpdk_telemetry.v2")
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
        s.settimeout(timeout_s)
        s.connect(path)
        size = json.loads(s.recv(1024).decode())["max_output_len"]
        s.send(command.encode())
        return json.loads(s.recv(size).decode())


# --- results -------------------------------------------------------------------


class Suite:
    """Runs cases, prints a line each and the closing line; status() is the exit status."""

    def __init__(self, name):
        self.name = name
        self.passed = self.failed = self.skipped = 0
        if DRIVER == "net_vireo" and not os.path.exists(os.path.join(PLUGIN_DIR, PLUGIN)):
            sys.exit("%s: no %s in %s: build it first (scripts/setup.sh), or set VIREO_BUILD" % (
                name, PLUGIN, PLUGIN_DIR))
        if shutil.which("dpdk-testpmd") is None:
            sys.exit("%s: dpdk-testpmd is not installed: scripts/setup.sh --tests" % name)

    def run(self, title, function, *args, keep=(), **kwargs):
        """One case; processes that it leaves behind are ended, save those to `keep`."""
        begin = time.monotonic()
        self.case_begin = time.time()
        try:
            note = function(*args, **kwargs)
            self.passed += 1
            self._print("pass", title, begin, note)
            return True
        except Skip as reason:
            self.skipped += 1
            self._print("skip", title, begin, reason)
        except Failure as fault:
            self.failed += 1
            self._print("FAIL", title, begin, fault)
            self._keep_logs(title)
        finally:
            for process in set(_running) - set(keep):
                process.kill()
        return False

    def _print(self, verdict, title, begin, note):
        note = ": %s" % note if note else ""
        print("%s %s/%s (%.1f s)%s" % (
            verdict, self.name, title, time.monotonic() - begin, note), flush=True)

    def _keep_logs(self, title):
        keep = os.environ.get("VIREO_KEEP")
        if not keep:
            return
        folder = os.path.join(keep, self.name, re.sub(r"\W+", "_", title))
        os.makedirs(folder, exist_ok=True)
        for name in os.listdir(WORK):
            if name.endswith(".log") and os.path.getmtime(work_path(name)) >= self.case_begin:
                shutil.copy(work_path(name), folder)

    def finish(self):
        print("%d passed, %d failed, %d skipped" % (self.passed, self.failed, self.skipped))
        sys.exit(1 if self.failed or self.passed + self.skipped == 0 else 0)
