# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Vireo Authors
"""What stock testpmd's commands make of a net_vireo port: queues, ports, hotplug."""

import re

import harness as h

NB_QUEUES = 2
# Polling lcores share their cores with the back end's control thread.
TRAFFIC_S = 15


class Pair:
    """A vhost port that forwards, and ours, which is driven by commands."""

    def __init__(self, **devargs):
        queues = ["--rxq=%d" % NB_QUEUES, "--txq=%d" % NB_QUEUES]
        self.path = h.new_socket()
        self.far = h.Testpmd("vhost", [h.vhost_vdev(self.path, queues=NB_QUEUES)],
                             queues + ["--forward-mode=mac", "-a"])
        h.wait_socket(self.path, process=self.far)
        self.near = h.Testpmd("driver", [h.driver_vdev(self.path, queues=NB_QUEUES, **devargs)],
                              queues + ["--forward-mode=mac"], cpu_index=1)

    def expect_traffic(self, what):
        """Forward for a moment; both counters must move."""
        before = self.near.stats()
        self.near.cmd("start tx_first 4")

        def moves():
            now = self.near.stats()
            return all(now[k] > before[k] + 256 for k in ("RX-packets", "TX-packets"))
        h.wait_until(moves, TRAFFIC_S, "%s: no traffic" % what)
        self.near.stop()

    def end(self):
        self.near.quit()
        self.far.quit()


def queue_state(end, kind, queue):
    text = end.cmd("show %s info 0 %d" % (kind, queue))
    return re.search(r"queue state: (\w+)", text).group(1)


def check_queues(**devargs):
    pair = Pair(**devargs)
    near = pair.near
    pair.expect_traffic("at first")
    for kind in ("rxq", "txq"):
        near.cmd("port 0 %s 1 stop" % kind)
        h.expect(queue_state(near, kind, 1) == "stopped", "%s 1 does not stop" % kind)
        pair.expect_traffic("%s 1 stopped" % kind)
        before = near.xstats()
        near.cmd("port 0 %s 1 start" % kind)
        h.expect(queue_state(near, kind, 1) == "started", "%s 1 does not start" % kind)
        pair.expect_traffic("%s 1 started" % kind)
        after = near.xstats()
        key = "%s_q1_good_packets" % kind[:2]
        h.expect(after[key] > before[key], "%s does not move after start" % key)
    near.cmd("port stop 0")
    near.cmd("port 0 rxq 1 deferred_start on")
    near.cmd("port start 0")
    h.expect(queue_state(near, "rxq", 1) == "stopped", "a deferred queue was started")
    near.cmd("port 0 rxq 1 start")
    pair.expect_traffic("deferred queue started")
    pair.end()


def check_port_commands(**devargs):
    pair = Pair(**devargs)
    near = pair.near
    for command in ("set promisc 0 off", "set promisc 0 on", "set allmulti 0 on",
                    "mac_addr add 0 02:11:22:33:44:55", "mac_addr remove 0 02:11:22:33:44:55",
                    "mac_addr set 0 02:11:22:33:44:66", "mcast_addr add 0 01:00:5e:00:00:01",
                    "mcast_addr remove 0 01:00:5e:00:00:01", "vlan set strip on 0",
                    "vlan set strip off 0", "port config mtu 0 1400"):
        text = near.cmd(command)
        h.expect(not re.search(r"(?i)fail|error|not supported", text), "%s: %s" % (command, text))
    text = near.cmd("show port info 0")
    for wanted in ("MTU: 1400", "MAC address: 02:11:22:33:44:66", "Driver name: net_vireo"):
        h.expect(wanted in text, "'%s' is not in port info" % wanted)
    h.expect("diag" in near.cmd("port config mtu 0 9000"), "MTU 9000 with 2 KiB mbufs was taken")
    pair.expect_traffic("after commands")
    for i in range(5):
        near.cmd("port stop 0")
        near.cmd("port start 0")
        pair.expect_traffic("start %d" % i)
    near.cmd("port stop 0")
    near.cmd("port reset 0")
    near.cmd("port config all rxd 100")
    near.cmd("port config all txd 60")
    near.cmd("port start 0")
    pair.expect_traffic("after reset, with other ring sizes")
    near.cmd("clear port stats 0")
    h.expect(near.stats()["RX-packets"] == 0, "statistics are not cleared")
    pair.end()


def check_hotplug(**devargs):
    pair = Pair(**devargs)
    near = pair.near
    for i in range(6):
        near.cmd("port stop 0")
        near.cmd("port detach 0")
        h.expect("net_vireo" not in near.cmd("show port summary all"), "port 0 is still there")
        text = near.cmd("port attach " + h.driver_vdev(pair.path, index=i % 2, queues=NB_QUEUES,
                                                       **devargs), timeout_s=10)
        h.expect("is attached" in text, "attach: %s" % text)
        near.cmd("port start 0")
        pair.expect_traffic("attachment %d" % i)
    pair.end()


def main():
    suite = h.Suite("net_ethdev")
    for name, packed in (("split", 0), ("packed", 1)):
        suite.run("queues stop and start, " + name, check_queues, packed_vq=packed)
        suite.run("port commands, " + name, check_port_commands, packed_vq=packed)
    suite.run("attach and detach", check_hotplug)
    suite.finish()


if __name__ == "__main__":
    main()
