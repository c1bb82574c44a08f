/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 *
 * Layer 2 forwarding between pairs of ports: what comes in on port 0 leaves on port 1 and the
 * other way round, and so on; the last of an odd number answers itself. The source address becomes
 * that of the port. Only DPDK's public API: that the ports are net_vireo's is a matter of linking
 * (see the Makefile) and of the EAL arguments.
 *
 *   l2fwd --no-pci --vdev net_vireo0,path=/tmp/a --vdev net_vireo1,path=/tmp/b -- [-s seconds]
 */
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_mbuf.h>

#define BURST 32
#define RING_SIZE 1024
#define MBUFS_PER_PORT 8192
#define MBUF_CACHE 256

struct port {
	uint16_t id;
	struct rte_ether_addr mac;
};

static struct port ports[RTE_MAX_ETHPORTS];
static uint16_t nb_ports;
static volatile sig_atomic_t quit;

static void
on_signal(int number)
{
	(void)number;
	quit = 1;
}

static int
open_port(struct port *port, struct rte_mempool *pool)
{
	struct rte_eth_conf conf = { 0 };
	struct rte_eth_dev_info info;
	uint16_t nb_rxd = RING_SIZE, nb_txd = RING_SIZE;
	int socket = rte_eth_dev_socket_id(port->id);
	int ret;

	ret = rte_eth_dev_info_get(port->id, &info);
	if (ret != 0)
		return ret;
	/* Every mbuf comes from one pool and has one reference: the driver may free them fast. */
	conf.txmode.offloads = info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE;
	ret = rte_eth_dev_configure(port->id, 1, 1, &conf);
	if (ret == 0)
		ret = rte_eth_dev_adjust_nb_rx_tx_desc(port->id, &nb_rxd, &nb_txd);
	if (ret == 0)
		ret = rte_eth_rx_queue_setup(port->id, 0, nb_rxd, socket, NULL, pool);
	if (ret == 0)
		ret = rte_eth_tx_queue_setup(port->id, 0, nb_txd, socket, NULL);
	if (ret == 0)
		ret = rte_eth_macaddr_get(port->id, &port->mac);
	if (ret == 0)
		ret = rte_eth_dev_start(port->id);
	if (ret != 0)
		return ret;
	ret = rte_eth_promiscuous_enable(port->id);
	return ret == -ENOTSUP ? 0 : ret;
}

static int
open_ports(struct rte_mempool *pool)
{
	uint16_t id;
	int ret;

	RTE_ETH_FOREACH_DEV(id) {
		struct port *port = &ports[nb_ports];

		port->id = id;
		ret = open_port(port, pool);
		if (ret != 0) {
			fprintf(stderr, "port %u: %s\n", id, rte_strerror(-ret));
			return ret;
		}
		printf("port %u: " RTE_ETHER_ADDR_PRT_FMT "\n", id,
		       RTE_ETHER_ADDR_BYTES(&port->mac));
		nb_ports++;
	}
	return 0;
}

/* One burst from one port to its partner. */
static void
forward(const struct port *from, const struct port *to)
{
	struct rte_mbuf *burst[BURST];
	uint16_t nb, sent, i;

	nb = rte_eth_rx_burst(from->id, 0, burst, BURST);
	if (nb == 0)
		return;
	for (i = 0; i < nb; i++) {
		struct rte_ether_hdr *eth = rte_pktmbuf_mtod(burst[i], struct rte_ether_hdr *);

		rte_ether_addr_copy(&to->mac, &eth->src_addr);
	}
	sent = rte_eth_tx_burst(to->id, 0, burst, nb);
	if (sent < nb)
		rte_pktmbuf_free_bulk(&burst[sent], nb - sent);
}

static void
run(uint64_t seconds)
{
	uint64_t end_tsc = rte_rdtsc() + seconds * rte_get_tsc_hz();
	uint16_t i;

	while (!quit && (seconds == 0 || rte_rdtsc() < end_tsc)) {
		for (i = 0; i < nb_ports; i++) {
			uint16_t partner = (i ^ 1) < nb_ports ? i ^ 1 : i;

			forward(&ports[i], &ports[partner]);
		}
	}
}

static void
close_ports(void)
{
	struct rte_eth_stats stats;
	uint16_t i;

	for (i = 0; i < nb_ports; i++) {
		if (rte_eth_stats_get(ports[i].id, &stats) == 0)
			printf("port %u: RX-packets: %" PRIu64 " TX-packets: %" PRIu64 "\n",
			       ports[i].id, stats.ipackets, stats.opackets);
		rte_eth_dev_stop(ports[i].id);
		rte_eth_dev_close(ports[i].id);
	}
}

/* @return 0 for "until interrupted", -1 for bad arguments. */
static int64_t
parse_seconds(int argc, char **argv)
{
	char *end;
	long seconds;

	if (argc <= 1)
		return 0;
	if (argc != 3 || strcmp(argv[1], "-s") != 0)
		return -1;
	seconds = strtol(argv[2], &end, 10);
	return *argv[2] == '\0' || *end != '\0' || seconds < 1 || seconds > 86400 ? -1 : seconds;
}

int
main(int argc, char **argv)
{
	struct rte_mempool *pool;
	int64_t seconds;
	int ret;

	ret = rte_eal_init(argc, argv);
	if (ret < 0)
		rte_exit(EXIT_FAILURE, "EAL: %s\n", rte_strerror(rte_errno));
	seconds = parse_seconds(argc - ret, argv + ret);
	if (seconds < 0)
		rte_exit(EXIT_FAILURE, "usage: l2fwd [EAL arguments] -- [-s <1..86400 s>]\n");
	if (rte_eth_dev_count_avail() == 0)
		rte_exit(EXIT_FAILURE, "no port: expected --vdev net_vireo0,path=<socket>\n");
	pool = rte_pktmbuf_pool_create("l2fwd", MBUFS_PER_PORT * rte_eth_dev_count_avail(),
				       MBUF_CACHE, 0, RTE_MBUF_DEFAULT_BUF_SIZE, rte_socket_id());
	if (pool == NULL)
		rte_exit(EXIT_FAILURE, "mbuf pool: %s\n", rte_strerror(rte_errno));
	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);
	ret = open_ports(pool);
	if (ret == 0)
		run(seconds);
	close_ports();
	rte_eal_cleanup();
	return ret == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
