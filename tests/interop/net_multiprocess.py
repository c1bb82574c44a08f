# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Vireo Authors
"""dpdk-proc-info as a secondary process of a testpmd that uses the driver, and telemetry.

Both processes load the plugin. A secondary needs hugepages; telemetry does not.
"""

import re
import subprocess
import time

import harness as h

ARGS = ["--rxd=256", "--txd=256", "--forward-mode=io", "-a"]


def open_pair(memory=None, nb_queues=1):
    path = h.new_socket()
    queues = ["--rxq=%d" % nb_queues, "--txq=%d" % nb_queues]
    far = h.Testpmd("vhost", [h.vhost_vdev(path, queues=nb_queues)],
                    ["--rxd=256", "--txd=256", "--forward-mode=flowgen", "-a"] + queues,
                    ready=False)
    h.wait_socket(path, process=far)
    near = h.Testpmd("driver", [h.driver_vdev(path, queues=nb_queues)], ARGS + queues,
                     cpu_index=1, memory=memory, telemetry=True)
    far.wait_ready()
    h.wait_until(lambda: near.stats()["RX-packets"] > 1000, 5, "traffic")
    return near, far


def shared_memory():
    """Arguments for a primary that secondaries can join: files in hugetlbfs."""
    reason = h.why_no_hugepages(2 * h.MEMORY_MB)
    if reason is not None:
        raise h.Skip("a secondary process " + reason)
    return ["--single-file-segments", "-m", str(h.MEMORY_MB)]


def proc_info(near, *words):
    argv = [h.require_program("dpdk-proc-info"), "--file-prefix", near.prefix, "--no-pci",
            "-d", h.PLUGIN, "--"] + list(words)
    if h.DRIVER != "net_vireo":
        at = argv.index("-d")
        del argv[at:at + 2]
    try:
        done = subprocess.run(argv, env=h.environment(), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=15,
                              check=False)
    except subprocess.TimeoutExpired:
        raise h.Failure("dpdk-proc-info %s hangs" % " ".join(words)) from None
    text = done.stdout.decode(errors="replace")
    h.expect(done.returncode == 0, "dpdk-proc-info %s: status %d: %s" % (
        " ".join(words), done.returncode, text[:400]))
    return text


def check_stats(near):
    before = near.stats()["RX-packets"]
    text = proc_info(near, "--stats")
    after = near.stats()["RX-packets"]
    match = re.search(r"RX-packets:\s*(\d+)", text)
    h.expect(match is not None, "no RX-packets in: " + text[-400:])
    seen = int(match.group(1))
    h.expect(before <= seen <= after, "secondary sees %d received packets, primary %d to %d" % (
        seen, before, after))
    return "%d <= %d <= %d" % (before, seen, after)


def check_xstats(near):
    before = near.xstats()
    text = proc_info(near, "--xstats")
    after = near.xstats()
    seen = {k: int(v) for k, v in re.findall(r"(?m)^(\w+): (\d+)$", text)}
    h.expect(seen.keys() >= before.keys(), "xstats that the secondary does not have: %s" % (
        before.keys() - seen.keys()))
    wrong = [k for k in before if not before[k] <= seen[k] <= after[k]]
    h.expect(not wrong, "not between the primary's values: " + ", ".join(
        "%s=%d (%d to %d)" % (k, seen[k], before[k], after[k]) for k in wrong))
    h.expect(seen["rx_good_packets"] > 0, "rx_good_packets is 0")
    return "%d values" % len(before)


def check_show_port(near):
    text = proc_info(near, "--show-port")
    h.expect(h.DRIVER in text, "no %s in: %s" % (h.DRIVER, text[-600:]))
    h.expect(re.search(r"(?i)link.*up", text), "link is not up in: " + text[-600:])
    h.expect(near.link_up(), "the primary's link")


def check_left_alone(near, far):
    """The secondaries came and went; traffic goes on and the primary leaves cleanly."""
    before = near.stats()["RX-packets"]
    time.sleep(0.1)
    h.expect(near.stats()["RX-packets"] > before, "no traffic any more")
    near.quit()
    far.quit()


def secondary_cases(suite):
    try:
        near, far = open_pair(shared_memory(), 2)
    except (h.Skip, h.Failure) as error:
        suite.run("dpdk-proc-info", fail_with, error)
        return
    keep = (near, far)
    suite.run("dpdk-proc-info --stats", check_stats, near, keep=keep)
    suite.run("dpdk-proc-info --xstats", check_xstats, near, keep=keep)
    suite.run("dpdk-proc-info --show-port", check_show_port, near, keep=keep)
    suite.run("traffic after the secondaries", check_left_alone, near, far)


def fail_with(error):
    raise error


def check_ethdev_stats(near):
    before = near.stats()["RX-packets"]
    seen = h.telemetry(near, "/ethdev/stats,0")["/ethdev/stats"]["ipackets"]
    after = near.stats()["RX-packets"]
    h.expect(before <= seen <= after, "telemetry says %d, testpmd %d to %d" % (
        seen, before, after))


def check_vireo_list(near):
    if h.DRIVER != "net_vireo":
        raise h.Skip("stock has no telemetry of its own")
    answer = h.telemetry(near, "/vireo/net/list")["/vireo/net/list"]
    h.expect(answer == [0], "/vireo/net/list: expected [0], got %s" % answer)


def check_vireo_info(near):
    if h.DRIVER != "net_vireo":
        raise h.Skip("stock has no telemetry of its own")
    answer = h.telemetry(near, "/vireo/net/info,0")["/vireo/net/info"]
    text = str(answer)
    h.expect(isinstance(answer, dict) and len(answer) > 3, "too little: " + text)
    h.expect("net_vireo" in text or "vhost" in text, "neither name nor transport: " + text)
    for bad in ("/vireo/net/info,77", "/vireo/net/info", "/vireo/net/info,x"):
        # An answer without a value, or null: never a crash.
        h.telemetry(near, bad)
    h.expect(near.alive(), "telemetry with bad parameters ended the process")
    return ", ".join(sorted(answer)[:12])


def telemetry_cases(suite):
    try:
        near, far = open_pair()
    except h.Failure as error:
        suite.run("telemetry", fail_with, error)
        return
    keep = (near, far)
    suite.run("telemetry /ethdev/stats", check_ethdev_stats, near, keep=keep)
    suite.run("telemetry /vireo/net/list", check_vireo_list, near, keep=keep)
    suite.run("telemetry /vireo/net/info", check_vireo_info, near, keep=keep)
    suite.run("traffic after telemetry", check_left_alone, near, far)


def main():
    suite = h.Suite("net_multiprocess")
    secondary_cases(suite)
    telemetry_cases(suite)
    suite.finish()


if __name__ == "__main__":
    main()
