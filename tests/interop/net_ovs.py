# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Vireo Authors
"""OVS-DPDK forwards between two server=1 ports of one testpmd.

An ovsdb-server and an ovs-vswitchd of our own, in a temporary folder; two dpdkvhostuserclient
ports, a flow each way. What testpmd sends on one port has to come back on the other.
"""

import os
import shutil
import subprocess
import time

import harness as h

OVS_MB = 256
DAEMON = "/usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk"
SCHEMA = "/usr/share/openvswitch/vswitch.ovsschema"


class Ovs:
    """One switch with a bridge br0, everything below one folder."""

    def __init__(self):
        self.dir = h.work_path("ovs%d" % h.serial())
        os.mkdir(self.dir)
        self.db = "unix:" + os.path.join(self.dir, "db.sock")
        self.env = dict(os.environ, OVS_RUNDIR=self.dir, OVS_LOGDIR=self.dir, OVS_DBDIR=self.dir)
        self.processes = []

    def path(self, name):
        return os.path.join(self.dir, name)

    def run(self, *argv, timeout_s=20):
        done = subprocess.run(argv, env=self.env, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=timeout_s, check=False)
        text = done.stdout.decode(errors="replace")
        h.expect(done.returncode == 0, "%s: %s" % (" ".join(argv), text.strip()))
        return text

    def vsctl(self, *words):
        return self.run("ovs-vsctl", "--db=" + self.db, "--timeout=15", *words)

    def start(self):
        self.run("ovsdb-tool", "create", self.path("conf.db"), SCHEMA)
        os.environ.update(OVS_RUNDIR=self.dir, OVS_LOGDIR=self.dir, OVS_DBDIR=self.dir)
        self.processes.append(h.Process(
            ["ovsdb-server", self.path("conf.db"), "--remote=p" + self.db,
             "--unixctl=" + self.path("db.ctl")], "ovsdb-server"))
        h.wait_socket(self.path("db.sock"), process=self.processes[0])
        self.vsctl("--no-wait", "init")
        self.vsctl("--no-wait", "set", "Open_vSwitch", ".",
                   "other_config:dpdk-init=true",
                   "other_config:dpdk-socket-mem=%d" % OVS_MB,
                   "other_config:dpdk-lcore-mask=0x%x" % (1 << h.cpu(0)),
                   "other_config:pmd-cpu-mask=0x%x" % (1 << h.cpu(0)),
                   # All of its file names are its own, and none stays behind.
                   "other_config:dpdk-extra=--no-pci --in-memory --file-prefix=%s_ovs" % h.PREFIX)
        self.processes.append(h.Process(
            [DAEMON, self.db, "--unixctl=" + self.path("vs.ctl"), "-vconsole:info"],
            "ovs-vswitchd"))
        self.vsctl("add-br", "br0", "--", "set", "bridge", "br0", "datapath_type=netdev")
        h.expect(self.vsctl("get", "Open_vSwitch", ".", "dpdk_initialized").strip() == "true",
                 "OVS has no DPDK: " + self.processes[1].complaints())

    def add_port(self, name, path):
        self.vsctl("add-port", "br0", name, "--", "set", "Interface", name,
                   "type=dpdkvhostuserclient", "options:vhost-server-path=" + path)
        number = self.vsctl("get", "Interface", name, "ofport").strip()
        h.expect(number.isdigit(), "port %s: %s" % (name, self.processes[1].complaints()))
        return number

    def flow(self, words):
        self.run("ovs-ofctl", "-O", "OpenFlow13", "add-flow",
                 "unix:" + self.path("br0.mgmt"), words)

    def stop(self):
        for process in reversed(self.processes):
            process.kill(15)
        shutil.rmtree(self.dir, ignore_errors=True)


def require_ovs():
    if not os.path.exists(DAEMON):
        raise h.Skip("openvswitch-switch-dpdk is not installed")
    for name in ("ovsdb-server", "ovsdb-tool", "ovs-vsctl", "ovs-ofctl"):
        h.require_program(name)
    reason = h.why_no_hugepages(OVS_MB + h.MEMORY_MB)
    if reason is not None:
        raise h.Skip("OVS-DPDK " + reason)


def check_forwarding(packed):
    require_ovs()
    paths = [h.new_socket() for _ in range(2)]
    vdevs = [h.driver_vdev(p, index=i, server=1, packed_vq=packed, queue_size=1024)
             for i, p in enumerate(paths)]
    ovs = Ovs()
    try:
        near = h.Testpmd("driver", vdevs, ["--rxd=1024", "--txd=1024", "--no-flush-rx"],
                         cpu_index=1, ready=h.DRIVER == "net_vireo", nb_mbufs=16384)
        ovs.start()
        numbers = [ovs.add_port("v%d" % i, p) for i, p in enumerate(paths)]
        near.wait_ready()
        ovs.flow("in_port=%s,actions=output:%s" % tuple(numbers))
        ovs.flow("in_port=%s,actions=output:%s" % tuple(reversed(numbers)))
        h.wait_until(lambda: near.link_up(0) and near.link_up(1), 10, "both links up")
        note = check_traffic(near)
        near.quit()
    finally:
        ovs.stop()
    return note


def warm_up(near):
    """OVS drops what it gets for a port that its threads have not taken up yet."""
    near.cmd("set fwd rxonly")

    def both_ways():
        near.cmd("start tx_first 1")
        time.sleep(0.2)
        near.stop()
        return all(near.stats(i)["RX-packets"] > 0 for i in range(2))
    h.wait_until(both_ways, 10, "OVS forwards both ways")
    near.cmd("start")
    time.sleep(0.5)
    near.stop()
    near.cmd("clear port stats all")


def check_traffic(near):
    """Each port sends what the other received, through the switch; nothing may get lost."""
    warm_up(near)
    near.cmd("set fwd io")
    near.cmd("set burst 8")
    near.cmd("start tx_first 32")
    h.wait_until(lambda: near.stats(0)["RX-packets"] > 32 * 8 * 4, 8, "four laps")
    time.sleep(0.5)
    dropped = near.stop()["TX-dropped"]

    def all_here():
        stats = [near.stats(i) for i in range(2)]
        return stats[0]["TX-packets"] == stats[1]["RX-packets"] and \
            stats[1]["TX-packets"] == stats[0]["RX-packets"]
    # What was under way when forwarding stopped waits in the Rx rings.
    near.cmd("set fwd rxonly")
    near.cmd("start")
    h.wait_until(all_here, 3, "all packets through the switch: %s" % [
        near.stats(i) for i in range(2)])
    near.stop()
    stats = [near.stats(i) for i in range(2)]
    h.expect(dropped == 0, "%d packets were dropped" % dropped)
    for i, s in enumerate(stats):
        h.expect(s["RX-packets"] > 0, "port %d received only %d packets" % (
            i, s["RX-packets"]))
        h.expect(s["RX-bytes"] == 64 * s["RX-packets"], "port %d: bytes" % i)
    return "%d and %d packets, none lost" % tuple(s["RX-packets"] for s in stats)


def main():
    suite = h.Suite("net_ovs")
    suite.run("two ports, split", check_forwarding, 0)
    suite.run("two ports, packed", check_forwarding, 1)
    suite.finish()


if __name__ == "__main__":
    main()
