/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */

/*
 * vireo-perf netdev: the null vhost-user net device. It takes the driver's Tx buffers
 * and fills its Rx buffers without touching payload, so that what a driver on the
 * other side shows is its own speed. It never interrupts: drivers must poll.
 */

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_lcore.h>
#include <rte_pause.h>

#include "floor.h"
#include "netdev.h"
#include "perf.h"

enum mode { MODE_SINK, MODE_SOURCE, MODE_REFLECT };

static struct perf_common common;
static const char *opt_socket_path;
static const char *opt_mode;
static bool opt_client;
static uint32_t opt_queues = 1;
static uint32_t opt_pkt_len = 64;
static uint32_t opt_burst = 64;
static uint32_t opt_gap_ns = 200;
static uint32_t opt_stats_period;
static uint32_t opt_seconds;

static const struct perf_opt opts[] = {
	{ "socket-path", "vhost-user socket", PERF_OPT_STRING, &opt_socket_path },
	{ "mode", "consume Tx, fill Rx, or answer Tx with Rx", PERF_OPT_CHOICE, &opt_mode,
	  "sink|source|reflect" },
	{ "client", "connect to the socket instead of listening", PERF_OPT_FLAG, &opt_client },
	{ "queues", "queue pairs", PERF_OPT_UINT, &opt_queues, NULL, 1, NETDEV_QUEUES_MAX },
	{ "pkt-len", "length of filled packets in bytes", PERF_OPT_UINT, &opt_pkt_len, NULL, 14,
	  65535 },
	{ "burst", "most buffers before the used index is published", PERF_OPT_UINT, &opt_burst,
	  NULL, 1, NETDEV_BURST_MAX },
	{ "gap", "rest after a look that found nothing, in ns", PERF_OPT_UINT, &opt_gap_ns, NULL, 0,
	  1000000 },
	{ "stats-period", "print packets/s every N seconds, 0: at the end only", PERF_OPT_UINT,
	  &opt_stats_period, NULL, 0, 3600 },
	{ "seconds", "end after N seconds, 0: at a signal", PERF_OPT_UINT, &opt_seconds, NULL, 0,
	  86400 },
	PERF_COMMON_OPTS(&common),
	{ NULL },
};

static struct netdev dev;
static enum mode mode;
static uint64_t gap_tsc;

/* Reporter's state. */
static struct {
	uint64_t start_tsc;
	uint64_t last_tsc;
	uint64_t last_rx;
	uint64_t last_tx;
} report;

/* @return whether there was something to do. */
vireo_inline bool
turn_queue(struct netdev_queue *queue, const enum mode how)
{
	const uint16_t burst = (uint16_t)opt_burst;
	uint32_t nb = 0, filled;

	if (!turnstile_enter(&queue->gate))
		return false;
	switch (how) {
	case MODE_SINK:
		nb = netdev_ring_sink(&queue->tx, burst);
		break;
	case MODE_SOURCE:
		nb = netdev_ring_fill(&queue->rx, burst);
		break;
	case MODE_REFLECT:
		/* A driver that does not receive holds back what it sends, too. */
		if (queue->nb_owed < NETDEV_BURST_MAX)
			nb = netdev_ring_sink(&queue->tx, burst);
		queue->nb_owed += nb;
		filled = netdev_ring_fill(&queue->rx, (uint16_t)RTE_MIN(queue->nb_owed, burst));
		queue->nb_owed -= filled;
		nb += filled;
		break;
	}
	turnstile_leave(&queue->gate);
	return nb > 0;
}

/* Looking at a ring takes the line from the driver that is about to write it: not too often. */
static void
rest(void)
{
	const uint64_t until = rte_rdtsc() + gap_tsc;

	while (rte_rdtsc() < until)
		rte_pause();
}

static void
count_packets(uint64_t *rx, uint64_t *tx)
{
	uint32_t i;

	*rx = 0;
	*tx = 0;
	for (i = 0; i < dev.nb_queues; i++) {
		*rx += __atomic_load_n(&dev.queues[i].rx.nb_pkts, __ATOMIC_RELAXED);
		*tx += __atomic_load_n(&dev.queues[i].tx.nb_pkts, __ATOMIC_RELAXED);
	}
}

static void
report_violation(uint32_t queue_idx, const char *which, enum vq_violation why)
{
	fprintf(stderr, "netdev: queue %u %s is broken, the driver made it so: %s\n", queue_idx,
		which,
		why == VQ_BAD_CHAIN_LEN ? "a buffer too small for --pkt-len, or a chain without end"
					: vireo_vq_violation_str(why));
}

static void
report_violations(void)
{
	struct netdev_queue *queue;
	enum vq_violation rx, tx;
	uint32_t i;

	for (i = 0; i < dev.nb_queues; i++) {
		queue = &dev.queues[i];
		rx = __atomic_load_n(&queue->rx.broken, __ATOMIC_RELAXED);
		tx = __atomic_load_n(&queue->tx.broken, __ATOMIC_RELAXED);
		if (rx != VQ_OK && queue->reported == VQ_OK)
			report_violation(i, "Rx", rx);
		else if (tx != VQ_OK && queue->reported == VQ_OK)
			report_violation(i, "Tx", tx);
		queue->reported = rx != VQ_OK ? rx : tx;
	}
}

/* @return false when it is time to end. */
static bool
report_tick(void)
{
	uint64_t now = rte_rdtsc(), hz = rte_get_tsc_hz(), rx, tx;
	double seconds;

	report_violations();
	if (opt_stats_period > 0 && now - report.last_tsc >= opt_stats_period * hz) {
		seconds = (double)(now - report.last_tsc) / (double)hz;
		count_packets(&rx, &tx);
		printf("netdev: rx-filled %.0f pps, tx-consumed %.0f pps\n",
		       (double)(rx - report.last_rx) / seconds,
		       (double)(tx - report.last_tx) / seconds);
		fflush(stdout);
		report.last_tsc = now;
		report.last_rx = rx;
		report.last_tx = tx;
	}
	return !perf_quit && (opt_seconds == 0 || now - report.start_tsc < opt_seconds * hz);
}

/* Queues of this lcore: every step-th from first on. */
struct share {
	uint32_t first;
	uint32_t step;
	bool reports; /* no other lcore is there to do it */
};

static struct share shares[RTE_MAX_LCORE];

vireo_inline void
poll_queues(const struct share *share, const enum mode how)
{
	uint32_t turn = 0, i;
	bool busy;

	while (!perf_quit) {
		busy = false;
		for (i = share->first; i < dev.nb_queues; i += share->step)
			busy |= turn_queue(&dev.queues[i], how);
		if (!busy && gap_tsc > 0)
			rest();
		if (share->reports && (++turn & 0xffff) == 0 && !report_tick())
			perf_quit = true;
	}
}

static int
poll_lcore(void *arg)
{
	const struct share *share = arg;

	switch (mode) {
	case MODE_SINK:
		poll_queues(share, MODE_SINK);
		break;
	case MODE_SOURCE:
		poll_queues(share, MODE_SOURCE);
		break;
	case MODE_REFLECT:
		poll_queues(share, MODE_REFLECT);
		break;
	}
	return 0;
}

static void
poll_until_end(void)
{
	unsigned int lcore, nb_workers = rte_lcore_count() - 1;
	uint32_t first = 0;

	report.start_tsc = rte_rdtsc();
	report.last_tsc = report.start_tsc;
	if (nb_workers == 0) {
		shares[0] = (struct share){ .first = 0, .step = 1, .reports = true };
		poll_lcore(&shares[0]);
		return;
	}
	RTE_LCORE_FOREACH_WORKER(lcore) {
		shares[lcore] = (struct share){ .first = first++, .step = nb_workers };
		rte_eal_remote_launch(poll_lcore, &shares[lcore], lcore);
	}
	while (report_tick())
		usleep(50000);
	perf_quit = true;
	rte_eal_mp_wait_lcore();
}

static void
write_results(struct perf_json *json, const struct floor_result *floor)
{
	double seconds = (double)(rte_rdtsc() - report.start_tsc) / (double)rte_get_tsc_hz();
	uint64_t rx, tx, bursts = 0;
	uint32_t i;

	count_packets(&rx, &tx);
	for (i = 0; i < dev.nb_queues; i++)
		bursts += dev.queues[i].rx.nb_bursts + dev.queues[i].tx.nb_bursts;
	printf("netdev: %s, %.1f s: rx-filled %" PRIu64 ", tx-consumed %" PRIu64
	       ", %.1f buffers a burst, %.0f pps\n",
	       opt_mode, seconds, rx, tx, bursts > 0 ? (double)(rx + tx) / (double)bursts : 0.0,
	       (double)(rx + tx) / seconds);
	if (json->file == NULL)
		return;
	perf_json_env(json);
	perf_floor_json(json, floor);
	perf_json_object(json, "netdev");
	perf_json_string(json, "mode", opt_mode);
	perf_json_double(json, "seconds", seconds);
	perf_json_uint(json, "rx_filled", rx);
	perf_json_uint(json, "tx_consumed", tx);
	perf_json_double(json, "mpps", (double)(rx + tx) / seconds / 1e6);
	perf_json_object_end(json);
}

static int
check_opts(void)
{
	if (opt_socket_path == NULL || opt_mode == NULL) {
		fprintf(stderr, "netdev: --socket-path and --mode must be given\n");
		return -EINVAL;
	}
	mode = strcmp(opt_mode, "sink") == 0	  ? MODE_SINK
		: strcmp(opt_mode, "source") == 0 ? MODE_SOURCE
						  : MODE_REFLECT;
	if (common.quick && opt_seconds == 0)
		opt_seconds = 10;
	gap_tsc = rte_get_tsc_hz() * opt_gap_ns / 1000000000;
	return 0;
}

static int
run(void)
{
	struct floor_result floor;
	struct perf_json json;
	int rc;

	rc = check_opts();
	if (rc < 0)
		return rc;
	rc = perf_json_open(&json, common.json_path);
	if (rc < 0)
		return rc;
	if (json.file != NULL && perf_floor_measure(&floor, true) < 0) {
		rc = -ENODEV;
		goto discard_json;
	}

	dev.socket_path = opt_socket_path;
	dev.client = opt_client;
	dev.nb_queues = opt_queues;
	dev.fill_bytes = opt_pkt_len + sizeof(struct net_hdr);
	dev.queues = aligned_alloc(VIREO_CACHE_LINE, dev.nb_queues * sizeof(dev.queues[0]));
	if (dev.queues == NULL) {
		rc = -ENOMEM;
		goto discard_json;
	}
	memset(dev.queues, 0, dev.nb_queues * sizeof(dev.queues[0]));
	vireo_turnstile_setup();
	rc = netdev_vhost_start(&dev);
	if (rc < 0)
		goto free_queues;
	printf("netdev: %s %s, %s, %u queue pairs\n", opt_client ? "connecting to" : "listening on",
	       opt_socket_path, opt_mode, opt_queues);
	fflush(stdout);
	poll_until_end();
	netdev_vhost_stop(&dev);
	write_results(&json, &floor);
	free(dev.queues);
	return perf_json_close(&json);
free_queues:
	free(dev.queues);
discard_json:
	perf_json_discard(&json);
	return rc;
}

const struct perf_command perf_netdev = {
	.name = "netdev",
	.summary = "null vhost-user net device: consume and fill a driver's buffers without a copy",
	.opts = opts,
	.run = run,
};
