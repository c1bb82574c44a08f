# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Vireo Authors
"""A port's life in a running testpmd: stop and start, queues, reset, detach and attach, and memory
that comes and goes while it runs.

Each step is followed by traffic both ways; in the end all mbufs are back.
"""

import re

import harness as h

NB_MBUFS = 8192
RINGS = ["--rxd=256", "--txd=256"]


def open_pair(nb_queues=1, near_args=(), **kwargs):
    path = h.new_socket()
    queues = ["--rxq=%d" % nb_queues, "--txq=%d" % nb_queues]
    far = h.Testpmd("vhost", [h.vhost_vdev(path, queues=nb_queues)],
                    RINGS + queues + ["--forward-mode=flowgen", "-a"], nb_mbufs=NB_MBUFS,
                    ready=False)
    h.wait_socket(path, process=far)
    vdev = h.driver_vdev(path, queues=nb_queues, **kwargs.pop("devargs", {}))
    near = h.Testpmd("driver", [vdev], RINGS + queues + ["--forward-mode=io"] + list(near_args),
                     cpu_index=1, nb_mbufs=NB_MBUFS, **kwargs)
    far.wait_ready()
    return near, far, vdev


def check_traffic(near, what):
    before = near.stats()

    def moved():
        now = near.stats()
        return now["RX-packets"] > before["RX-packets"] + 100 and \
            now["TX-packets"] > before["TX-packets"] + 100
    h.wait_until(moved, 5, "%s: traffic both ways" % what)


def command(end, text):
    output = end.cmd(text)
    h.expect(not re.search(r"(?i)fail|error|not supported|cannot", output),
             "%s: '%s': %s" % (end.name, text, output.strip()))
    return output


def detach(end, text):
    output = end.cmd(text)
    h.expect("is detached" in output, "'%s': %s; %s" % (text, output.strip(), end.complaints()))


def check_mbufs(near):
    near.cmd("stop")
    near.cmd("port stop 0")
    text = near.cmd("dump_mempool mb_pool_0")
    value = {k: int(v) for k, v in re.findall(
        r"(?m)^\s*(size|common_pool_count|total_cache_count)=(\d+)", text)}
    have = value["common_pool_count"] + value["total_cache_count"]
    h.expect(have == value["size"], "%d of %d mbufs are lost" % (value["size"] - have,
                                                                 value["size"]))


def close_pair(near, far):
    near.quit()
    far.quit()


def check_stop_start(times=10, **devargs):
    near, far, _ = open_pair(devargs=devargs)
    for i in range(times):
        near.cmd("start")
        h.wait_until(near.link_up, 5, "link up")
        check_traffic(near, "round %d" % (i + 1))
        near.cmd("stop")
        # The far end goes on sending into rings that are being taken away.
        command(near, "port stop 0")
        command(near, "port start 0")
    check_mbufs(near)
    close_pair(near, far)
    return "%d times" % times


def check_queues(**devargs):
    near, far, _ = open_pair(nb_queues=2, devargs=devargs)
    near.cmd("start")
    for i in range(5):
        check_traffic(near, "round %d" % (i + 1))
        for kind in ("rxq", "txq"):
            command(near, "port 0 %s 1 stop" % kind)
        check_traffic(near, "queue 1 stopped, queue 0")
        for kind in ("rxq", "txq"):
            command(near, "port 0 %s 1 start" % kind)
    before = near.xstats()["rx_q1_packets"]
    h.wait_until(lambda: near.xstats()["rx_q1_packets"] > before, 5, "queue 1 after its restart")
    check_mbufs(near)
    close_pair(near, far)


def check_reset(**devargs):
    near, far, _ = open_pair(devargs=devargs)
    for i in range(3):
        near.cmd("start")
        check_traffic(near, "round %d" % (i + 1))
        near.cmd("stop")
        command(near, "port stop 0")
        command(near, "port reset 0")
        command(near, "port start 0")
        h.wait_until(near.link_up, 5, "link up")
    near.cmd("start")
    check_traffic(near, "after the last reset")
    check_mbufs(near)
    close_pair(near, far)


def check_attach(**devargs):
    near, far, vdev = open_pair(devargs=devargs)
    for i in range(5):
        near.cmd("start")
        check_traffic(near, "round %d" % (i + 1))
        check_mbufs(near)
        command(near, "port close 0")
        # A closed port of a device that is still there: detach by its name.
        detach(near, "device detach %s" % vdev.split(",")[0])
        output = near.cmd("port attach " + vdev)
        h.expect("is attached" in output, "attach: %s; %s" % (output.strip(), near.complaints()))
        command(near, "port start 0")
        h.wait_until(near.link_up, 5, "link up")
    near.cmd("start")
    check_traffic(near, "after the last attach")
    check_mbufs(near)
    close_pair(near, far)


def nb_pages(end):
    return len(re.findall(r"(?i)iova:", end.cmd("dump_physmem")))


def check_memory(**devargs):
    """DPDK's memory grows and shrinks under traffic, as ports with large rings come and go."""
    reason = h.why_no_hugepages(3 * h.MEMORY_MB)
    if reason is not None:
        raise h.Skip("memory that grows " + reason)
    if h.DRIVER != "net_vireo":
        raise h.Skip("a server port of stock waits for its client")
    near, far, _ = open_pair(memory=["--in-memory", "--single-file-segments"], devargs=devargs)
    near.cmd("start")
    check_traffic(near, "at first")
    before = most = nb_pages(near)
    for _ in range(3):
        ports = range(1, 5)
        for i in ports:
            output = near.cmd("port attach " + h.driver_vdev(
                h.new_socket(), index=i, server=1, queue_size=32768))
            h.expect("is attached" in output, "attach: " + output.strip())
            command(near, "port start %d" % i)
            check_traffic(near, "%d ports more" % i)
        most = max(most, nb_pages(near))
        # testpmd counts new ports among those that forward, and does not let go of such.
        for text in ("stop", "set portlist 0", "start"):
            near.cmd(text)
        for i in ports:
            command(near, "port stop %d" % i)
            detach(near, "port detach %d" % i)
            check_traffic(near, "after port %d went" % i)
    after = nb_pages(near)
    h.expect(most > before, "memory did not grow: %d pages" % before)
    h.expect(after < most, "memory did not shrink: %d, %d, %d pages" % (before, most, after))
    check_mbufs(near)
    close_pair(near, far)
    return "%d, at most %d, then %d pages" % (before, most, after)


def check_regions():
    """Every page in a file of its own is more than rte_vhost takes: say what to do."""
    reason = h.why_no_hugepages(h.MEMORY_MB)
    if reason is not None:
        raise h.Skip("one file a page " + reason)
    path = h.new_socket()
    far = h.Testpmd("vhost", [h.vhost_vdev(path)], RINGS, ready=False)
    h.wait_socket(path, process=far)
    near = h.Testpmd("driver", [h.driver_vdev(path)], RINGS, cpu_index=1, nb_mbufs=4096,
                     memory=["--in-memory", "-m", "64"], ready=False)
    near.sync(0, h.START_S)
    if h.DRIVER == "net_vireo":
        h.expect("--single-file-segments" in near.text,
                 "no advice in: " + near.complaints())
    h.expect("net_vireo" not in near.cmd("show port summary all"), "the port came up")
    near.quit()
    # The far end is as good as before.
    again = h.Testpmd("driver", [h.driver_vdev(path)], RINGS + ["--forward-mode=rxonly"],
                      cpu_index=1, nb_mbufs=4096)
    h.wait_until(again.link_up, 5, "link up")
    close_pair(again, far)
    return near_line(near.text, "--single-file-segments")


def near_line(text, word):
    return next((line.strip() for line in text.splitlines()
                 if word in line and "dpdk-testpmd" not in line), None)


def main():
    suite = h.Suite("net_hotplug")
    for packed in (0, 1):
        layout = "packed" if packed else "split"
        suite.run("port stop and start, %s" % layout, check_stop_start, packed_vq=packed)
        if h.DRIVER == "net_vireo":
            suite.run("queue stop and start, %s" % layout, check_queues, packed_vq=packed)
        suite.run("port reset, %s" % layout, check_reset, packed_vq=packed)
        suite.run("detach and attach, %s" % layout, check_attach, packed_vq=packed)
    suite.run("memory grows", check_memory)
    suite.run("more than 8 memory files", check_regions)
    suite.finish()


if __name__ == "__main__":
    main()
