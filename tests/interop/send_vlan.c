/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 *
 * Sends 32 frames with the request to insert a VLAN tag, as ethdev has it: tx_prepare, then
 * tx_burst. No engine of stock testpmd does so. Waits until the link is up, then until the
 * frames were taken, each at most five seconds.
 */
#include <stdio.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#define NB_FRAMES 32
#define FRAME_BYTES 64
#define VLAN_TCI 100
#define WAIT_MS 5000

static int
open_port(struct rte_mempool *pool)
{
	struct rte_eth_conf conf = { .txmode.offloads = RTE_ETH_TX_OFFLOAD_VLAN_INSERT };
	struct rte_eth_link link = { 0 };
	unsigned int ms;

	if (rte_eth_dev_configure(0, 1, 1, &conf) != 0 ||
	    rte_eth_rx_queue_setup(0, 0, 256, 0, NULL, pool) != 0 ||
	    rte_eth_tx_queue_setup(0, 0, 256, 0, NULL) != 0 || rte_eth_dev_start(0) != 0)
		return -1;
	for (ms = 0; ms < WAIT_MS; ms++) {
		if (rte_eth_link_get_nowait(0, &link) == 0 && link.link_status == RTE_ETH_LINK_UP)
			return 0;
		rte_delay_ms(1);
	}
	return -1;
}

static int
make_frames(struct rte_mempool *pool, struct rte_mbuf **frames)
{
	unsigned int i;

	if (rte_pktmbuf_alloc_bulk(pool, frames, NB_FRAMES) != 0)
		return -1;
	for (i = 0; i < NB_FRAMES; i++) {
		char *data = rte_pktmbuf_append(frames[i], FRAME_BYTES);

		if (data == NULL)
			return -1;
		/* Addresses, Ethernet type and content that the receiver knows. */
		memset(data, (int)i, FRAME_BYTES);
		data[0] = 2;
		data[12] = (char)0x88;
		data[13] = (char)0xb5;
		frames[i]->ol_flags |= RTE_MBUF_F_TX_VLAN;
		frames[i]->vlan_tci = VLAN_TCI;
	}
	return 0;
}

static int
send_frames(struct rte_mbuf **frames)
{
	unsigned int ms;
	uint16_t sent = 0;

	if (rte_eth_tx_prepare(0, 0, frames, NB_FRAMES) != NB_FRAMES)
		return -1;
	for (ms = 0; ms < WAIT_MS && sent < NB_FRAMES; ms++) {
		sent += rte_eth_tx_burst(0, 0, frames + sent, NB_FRAMES - sent);
		rte_delay_ms(1);
	}
	/* Time for the far end to take them, before the port goes. */
	rte_delay_ms(500);
	return sent == NB_FRAMES ? 0 : -1;
}

int
main(int argc, char **argv)
{
	struct rte_mbuf *frames[NB_FRAMES];
	struct rte_mempool *pool;
	int ret;

	if (rte_eal_init(argc, argv) < 0 || rte_eth_dev_count_avail() != 1)
		return 2;
	pool = rte_pktmbuf_pool_create("frames", 1023, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, 0);
	if (pool == NULL || open_port(pool) != 0 || make_frames(pool, frames) != 0)
		return 3;
	ret = send_frames(frames);
	printf("%s\n", ret == 0 ? "sent" : "not sent");
	rte_eth_dev_stop(0);
	rte_eth_dev_close(0);
	rte_eal_cleanup();
	return ret == 0 ? 0 : 1;
}
