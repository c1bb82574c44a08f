/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#include <rte_bus_vdev.h>
#include <rte_cycles.h>
#include <rte_lcore.h>

#include "net_fixture.h"
#include "test.h"

#define BURST 32
#define IDLE_TURNS 2000

static unsigned int nb_opened;

static int
on_event(uint16_t port_id, enum rte_eth_event_type type, void *arg, void *ret_param)
{
	struct net_fixture *f = arg;

	RTE_SET_USED(port_id);
	RTE_SET_USED(ret_param);
	__atomic_fetch_add(type == RTE_ETH_EVENT_INTR_LSC ? &f->nb_lsc : &f->nb_reset, 1,
			   __ATOMIC_RELEASE);
	return 0;
}

static int
probe(struct net_fixture *f, const char *devargs)
{
	char args[256];
	int ret;

	snprintf(args, sizeof(args), "path=loopback:%s%s%s", f->lb_name, *devargs ? "," : "",
		 devargs);
	ret = rte_vdev_init(f->vdev_name, args);
	if (ret != 0)
		return ret;
	f->probed = true;
	ret = rte_eth_dev_get_port_by_name(f->vdev_name, &f->port_id);
	if (ret != 0)
		return ret;
	rte_eth_dev_callback_register(f->port_id, RTE_ETH_EVENT_INTR_LSC, on_event, f);
	rte_eth_dev_callback_register(f->port_id, RTE_ETH_EVENT_INTR_RESET, on_event, f);
	return 0;
}

int
net_fixture_open(struct net_fixture *f, const struct vireo_loopback_conf *conf, const char *devargs)
{
	int ret;

	memset(f, 0, sizeof(*f));
	snprintf(f->lb_name, sizeof(f->lb_name), "test%u", nb_opened);
	snprintf(f->vdev_name, sizeof(f->vdev_name), "net_vireo%u", nb_opened);
	nb_opened++;
	if (conf != NULL)
		f->lb_conf = *conf;
	f->lb_conf.name = f->lb_name;
	f->mp = rte_pktmbuf_pool_create(f->lb_name, NET_FIXTURE_MBUFS, 0, 0,
					RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	if (f->mp == NULL)
		return -ENOMEM;
	ret = vireo_loopback_create(&f->lb_conf, &f->lb);
	return ret != 0 ? ret : probe(f, devargs);
}

int
net_fixture_start(struct net_fixture *f, uint16_t nb_queues, uint16_t nb_desc,
		  const struct rte_eth_conf *conf)
{
	static const struct rte_eth_conf plain;
	uint16_t i;
	int ret;

	ret = rte_eth_dev_configure(f->port_id, nb_queues, nb_queues, conf == NULL ? &plain : conf);
	for (i = 0; i < nb_queues && ret == 0; i++) {
		ret = rte_eth_rx_queue_setup(f->port_id, i, nb_desc, SOCKET_ID_ANY, NULL, f->mp);
		if (ret == 0)
			ret = rte_eth_tx_queue_setup(f->port_id, i, nb_desc, SOCKET_ID_ANY, NULL);
	}
	return ret != 0 ? ret : rte_eth_dev_start(f->port_id);
}

void
net_fixture_close(struct net_fixture *f)
{
	if (f->probed)
		rte_vdev_uninit(f->vdev_name);
	net_fixture_device_gone(f);
	rte_mempool_free(f->mp);
	memset(f, 0, sizeof(*f));
}

void
net_fixture_device_gone(struct net_fixture *f)
{
	if (f->lb != NULL)
		vireo_loopback_destroy(f->lb);
	f->lb = NULL;
}

int
net_fixture_device_back(struct net_fixture *f)
{
	return vireo_loopback_create(&f->lb_conf, &f->lb);
}

struct rte_mbuf *
net_fixture_frame(struct net_fixture *f, uint16_t len)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(f->mp);
	struct rte_ether_hdr *eth;
	uint16_t i;

	if (m == NULL)
		return NULL;
	eth = (struct rte_ether_hdr *)rte_pktmbuf_append(m, len);
	if (eth == NULL) {
		rte_pktmbuf_free(m);
		return NULL;
	}
	rte_eth_macaddr_get(f->port_id, &eth->dst_addr);
	eth->src_addr = (struct rte_ether_addr){ { 2, 0, 0, 0, 0, 0xee } };
	eth->ether_type = RTE_BE16(0x88b5); /* for local experiments */
	for (i = sizeof(*eth); i < len; i++)
		*rte_pktmbuf_mtod_offset(m, uint8_t *, i) = (uint8_t)i;
	return m;
}

uint16_t
net_fixture_send(struct net_fixture *f, uint16_t queue_id, uint16_t nb, uint16_t len)
{
	struct rte_mbuf *pkts[BURST];
	uint16_t n = 0, sent, i;

	for (i = 0; i < nb && i < BURST; i++) {
		pkts[n] = net_fixture_frame(f, len);
		if (pkts[n] != NULL)
			n++;
	}
	sent = rte_eth_tx_burst(f->port_id, queue_id, pkts, n);
	if (sent < n)
		rte_pktmbuf_free_bulk(&pkts[sent], n - sent);
	return sent;
}

static struct rte_mbuf *
make_chain(struct net_fixture *f, uint16_t nb_segs, uint16_t len)
{
	struct rte_mbuf *head = net_fixture_frame(f, len), *seg;

	while (head != NULL && head->nb_segs < nb_segs) {
		seg = net_fixture_frame(f, len);
		if (seg == NULL || rte_pktmbuf_chain(head, seg) != 0) {
			rte_pktmbuf_free(seg);
			rte_pktmbuf_free(head);
			return NULL;
		}
	}
	return head;
}

uint16_t
net_fixture_send_chains(struct net_fixture *f, uint16_t queue_id, uint16_t nb, uint16_t nb_segs,
			uint16_t len)
{
	struct rte_mbuf *pkts[BURST];
	uint16_t n = 0, sent, i;

	for (i = 0; i < nb && i < BURST; i++) {
		pkts[n] = make_chain(f, nb_segs, len);
		if (pkts[n] != NULL)
			n++;
	}
	sent = rte_eth_tx_burst(f->port_id, queue_id, pkts, n);
	if (sent < n)
		rte_pktmbuf_free_bulk(&pkts[sent], n - sent);
	return sent;
}

uint32_t
net_fixture_receive(struct net_fixture *f, uint16_t queue_id, uint32_t want)
{
	struct rte_mbuf *pkts[BURST];
	uint32_t got = 0, idle = 0;
	uint16_t n;

	while (got < want && idle < IDLE_TURNS) {
		vireo_loopback_poll(f->lb, BURST);
		n = rte_eth_rx_burst(f->port_id, queue_id, pkts, BURST);
		rte_pktmbuf_free_bulk(pkts, n);
		idle = n == 0 ? idle + 1 : 0;
		got += n;
	}
	return got;
}

uint32_t
net_fixture_round(struct net_fixture *f, uint16_t queue_id, uint32_t nb, uint16_t len)
{
	uint32_t got = 0;

	while (got < nb) {
		uint16_t want = RTE_MIN(nb - got, (uint32_t)BURST);
		uint16_t sent = net_fixture_send(f, queue_id, want, len);
		uint32_t back = net_fixture_receive(f, queue_id, sent);

		got += back;
		if (sent == 0 || back < sent)
			break;
	}
	return got;
}

bool
net_fixture_wait(const unsigned int *counter, unsigned int want)
{
	unsigned int i;

	for (i = 0; i < NET_FIXTURE_WAIT_MS; i++) {
		if (__atomic_load_n(counter, __ATOMIC_ACQUIRE) >= want)
			return true;
		rte_delay_us_sleep(1000);
	}
	return false;
}

uint64_t
net_fixture_xstat(const struct net_fixture *f, const char *name)
{
	uint64_t id, value;

	if (rte_eth_xstats_get_id_by_name(f->port_id, name, &id) != 0 ||
	    rte_eth_xstats_get_by_id(f->port_id, &id, &value, 1) != 1)
		return UINT64_MAX;
	return value;
}
