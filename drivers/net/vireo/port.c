/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <rte_alarm.h>
#include <rte_malloc.h>

#include "ethdev.h"
#include "log.h"

/* How often the interrupt thread looks for queues that the other side broke. */
#define TICK_US 100000
/*
 * Bound of every wait for the device. A back end whose control thread shares its core with a
 * polling one, and waits for that one's spinlock, has been seen to take two seconds.
 */
#define DEVICE_TIMEOUT_MS 5000

/* --- link ------------------------------------------------------------------- */

int
net_link_publish(struct rte_eth_dev *eth_dev)
{
	const struct net_port *port = net_port_of(eth_dev);
	struct rte_eth_link link;

	memset(&link, 0, sizeof(link));
	link.link_speed = port->speed;
	link.link_duplex = RTE_ETH_LINK_FULL_DUPLEX;
	link.link_autoneg = RTE_ETH_LINK_FIXED;
	if (port->started && port->connected && port->carrier) {
		link.link_status = RTE_ETH_LINK_UP;
	} else {
		link.link_status = RTE_ETH_LINK_DOWN;
		link.link_speed = RTE_ETH_SPEED_NUM_NONE;
	}
	return rte_eth_linkstatus_set(eth_dev, &link);
}

int
net_link_update(struct rte_eth_dev *eth_dev, int wait_to_complete __rte_unused)
{
	struct net_port *port = net_port_of(eth_dev);

	/* A secondary process sees what the primary published. */
	if (net_local_of(eth_dev) == NULL)
		return 0;
	if (port->started && (port->negotiated & VIREO_NET_F_STATUS))
		port->carrier = (net_config_read_status(eth_dev) & VIREO_NET_S_LINK_UP) != 0;
	return net_link_publish(eth_dev);
}

/* --- events: the interrupt thread, without any lock ---------------------------- */

struct port_news {
	bool ctrl_stale;
	bool config_stale;
	bool lsc;
};

static struct port_news
take_news(struct net_local *local)
{
	struct port_news news;

	pthread_mutex_lock(&local->mutex);
	news.ctrl_stale = local->ctrl_stale;
	news.config_stale = local->config_stale;
	news.lsc = local->lsc_pending;
	local->ctrl_stale = false;
	local->config_stale = false;
	local->lsc_pending = false;
	pthread_mutex_unlock(&local->mutex);
	return news;
}

static void
run_events(void *arg)
{
	struct net_local *local = arg;
	struct rte_eth_dev *eth_dev = local->eth_dev;
	struct net_port *port = net_port_of(eth_dev);
	struct port_news news = take_news(local);
	uint16_t status;

	net_limbo_flush(local);
	if (news.ctrl_stale) {
		net_port_refresh(eth_dev);
		if (port->started)
			net_ctrl_restore(eth_dev);
	}
	if (news.config_stale) {
		status = net_config_read_status(eth_dev);
		port->carrier = (status & VIREO_NET_S_LINK_UP) != 0;
		/* VIRTIO 1.3 section 5.1.6.5.4. */
		if ((status & VIREO_NET_S_ANNOUNCE) && port->started &&
		    (port->negotiated & VIREO_NET_F_GUEST_ANNOUNCE))
			net_announce(eth_dev);
	}
	if (net_link_publish(eth_dev) == 0)
		news.lsc = true;
	if (news.lsc)
		rte_eth_dev_callback_process(eth_dev, RTE_ETH_EVENT_INTR_LSC, NULL);
}

void
net_port_notify(struct net_local *local)
{
	int ret;

	pthread_mutex_lock(&local->mutex);
	if (local->ready && !local->closing) {
		ret = rte_eal_alarm_set(1, run_events, local);
		if (ret != 0)
			LOG(ERR, "port %u: cannot set an alarm: %s", local->eth_dev->data->port_id,
			    strerror(-ret));
	}
	pthread_mutex_unlock(&local->mutex);
}

static bool
report_violation(struct net_port *port, const char *kind, uint16_t queue_id,
		 const struct vq_drv *vq, uint8_t *reported)
{
	/* Written by the owner lcore; a byte, so one read is enough. */
	uint8_t broken = __atomic_load_n(&vq->broken, __ATOMIC_RELAXED);

	if (broken == VQ_OK || *reported)
		return false;
	*reported = 1;
	port->nb_broken++;
	LOG(ERR,
	    "port %u: the device broke %s queue %u: %s; it stands still until the port is reset",
	    port->port_id, kind, queue_id, vireo_vq_violation_str(broken));
	return true;
}

static bool
find_broken(struct net_local *local)
{
	struct net_port *port = net_port_of(local->eth_dev);
	bool found = false;
	unsigned int i;

	pthread_mutex_lock(&local->mutex);
	for (i = 0; i < VIREO_NET_PAIRS_MAX; i++) {
		struct net_rxq *rxq = local->rxqs[i];
		struct net_txq *txq = local->txqs[i];

		if (rxq != NULL)
			found |= report_violation(port, "Rx", i, &rxq->vq, &rxq->reported);
		if (txq != NULL)
			found |= report_violation(port, "Tx", i, &txq->vq, &txq->reported);
	}
	pthread_mutex_unlock(&local->mutex);
	return found;
}

static void tick(void *arg);

/* Under the mutex. */
static void
arm_tick(struct net_local *local)
{
	int ret = rte_eal_alarm_set(TICK_US, tick, local);

	if (ret != 0)
		LOG(ERR, "port %u: cannot set an alarm, broken queues go unreported: %s",
		    local->eth_dev->data->port_id, strerror(-ret));
}

static void
tick(void *arg)
{
	struct net_local *local = arg;
	struct rte_eth_dev *eth_dev = local->eth_dev;
	bool found = find_broken(local);

	pthread_mutex_lock(&local->mutex);
	if (net_port_of(eth_dev)->started && !local->closing)
		arm_tick(local);
	pthread_mutex_unlock(&local->mutex);
	/* Last: the application may close the port in there. */
	if (found)
		rte_eth_dev_callback_process(eth_dev, RTE_ETH_EVENT_INTR_RESET, NULL);
}

/*
 * --- callbacks of vireo_dev ------------------------------------------------------
 *
 * quiesce, resume and restart come under the device's lock; link and config do not, but from
 * the interrupt thread that serves the device: they leave the work to an alarm.
 */

static void
on_quiesce(void *arg)
{
	net_queues_quiesce(arg);
}

static void
on_resume(void *arg)
{
	net_queues_resume(arg);
}

static int
on_restart(void *arg)
{
	return net_queues_restart(arg);
}

static void
on_link(void *arg, bool up)
{
	struct net_local *local = arg;
	struct net_port *port = net_port_of(local->eth_dev);

	pthread_mutex_lock(&local->mutex);
	local->nb_link_events++;
	port->connected = up;
	if (up) {
		local->ctrl_stale = true;
		local->config_stale = true;
	}
	if (net_link_publish(local->eth_dev) == 0)
		local->lsc_pending = true;
	pthread_mutex_unlock(&local->mutex);
	LOG(INFO, "port %u: %s", port->port_id, up ? "connected" : "disconnected");
	net_port_notify(local);
}

static void
on_config(void *arg)
{
	struct net_local *local = arg;

	pthread_mutex_lock(&local->mutex);
	local->config_stale = true;
	pthread_mutex_unlock(&local->mutex);
	net_port_notify(local);
}

static const struct vireo_dev_cb dev_cb = {
	.quiesce = on_quiesce,
	.resume = on_resume,
	.restart = on_restart,
	.link = on_link,
	.config = on_config,
};

/* The state of now, unless a callback brings a newer one meanwhile. */
static bool
sync_connected(struct net_local *local)
{
	struct net_port *port = net_port_of(local->eth_dev);
	struct vireo_dev_info info;
	uint32_t seen;
	bool done;

	do {
		pthread_mutex_lock(&local->mutex);
		seen = local->nb_link_events;
		pthread_mutex_unlock(&local->mutex);
		vireo_dev_info_get(local->dev, &info);
		pthread_mutex_lock(&local->mutex);
		done = seen == local->nb_link_events;
		if (done)
			port->connected = info.connected;
		pthread_mutex_unlock(&local->mutex);
	} while (!done);
	return info.connected;
}

/* --- create and destroy --------------------------------------------------------- */

/* What stock's virtio-user takes at the same argument, and net_vireo does not. */
static int
check_path(const struct net_devargs *args)
{
	struct stat sb;

	if (args->loopback || stat(args->path, &sb) != 0 || S_ISSOCK(sb.st_mode))
		return 0;
	LOG(ERR, "path=%s is %s: expected the UNIX socket of a vhost-user back end", args->path,
	    S_ISCHR(sb.st_mode) ? "a device (vhost-kernel or vhost-vdpa)" : "no socket");
	return -EINVAL;
}

static int
create_device(struct net_local *local, const struct net_devargs *args)
{
	struct vireo_dev_conf conf = {
		.transport = args->loopback ? VIREO_DEV_LOOPBACK : VIREO_DEV_VHOST_USER,
		.path = args->path,
		.server = args->server,
		.device_id = VIREO_NET_DEVICE_ID,
		.timeout_ms = DEVICE_TIMEOUT_MS,
		.wanted = net_features_base(args),
		.required = VIREO_F_VERSION_1,
		.nb_queues_max = args->queues * 2,
	};
	int ret;

	ret = check_path(args);
	if (ret == 0)
		ret = vireo_dev_create(&conf, &dev_cb, local, &local->dev);
	return ret;
}

static int
create_local(struct rte_eth_dev *eth_dev)
{
	struct net_port *port = net_port_of(eth_dev);
	struct net_local *local;

	local = calloc(1, sizeof(*local));
	if (local == NULL)
		return -ENOMEM;
	local->queues = calloc(port->args.queues * 2u, sizeof(*local->queues));
	if (local->queues == NULL) {
		free(local);
		return -ENOMEM;
	}
	pthread_mutex_init(&local->mutex, NULL);
	local->eth_dev = eth_dev;
	eth_dev->process_private = local;
	return 0;
}

static void
destroy_local(struct rte_eth_dev *eth_dev)
{
	struct net_local *local = net_local_of(eth_dev);

	eth_dev->process_private = NULL;
	pthread_mutex_destroy(&local->mutex);
	free(local->queues);
	free(local);
}

/* Say what was asked for and is not to be had: nothing is swapped silently. */
static void
report_missing(const struct net_port *port)
{
	static const struct {
		uint64_t feature;
		const char *text;
	} wishes[] = {
		{ VIREO_F_RING_PACKED, "packed_vq=1: the device has split rings only" },
		{ VIREO_NET_F_MRG_RXBUF, "mrg_rxbuf=1: the device does not merge Rx buffers" },
		{ VIREO_F_EVENT_IDX, "event_idx=1: the device has no EVENT_IDX" },
		{ VIREO_F_INDIRECT_DESC, "indirect: the device takes no indirect descriptors" },
		{ VIREO_NET_F_MQ, "queues: the device has one pair of queues" },
	};
	unsigned int i;

	for (i = 0; i < RTE_DIM(wishes); i++)
		if ((net_features_base(&port->args) & wishes[i].feature) &&
		    !(port->negotiated & wishes[i].feature))
			LOG(NOTICE, "port %u: %s", port->port_id, wishes[i].text);
	if (port->nb_pairs_max < port->args.queues)
		LOG(NOTICE, "port %u: %u of queues=%u pairs are to be had", port->port_id,
		    port->nb_pairs_max, port->args.queues);
}

int
net_port_create(struct rte_eth_dev *eth_dev)
{
	struct net_port *port = net_port_of(eth_dev);
	struct net_local *local;
	unsigned int i;
	bool has_news;
	int ret;

	ret = create_local(eth_dev);
	if (ret != 0)
		return ret;
	local = net_local_of(eth_dev);
	port->use_va = 1;
	port->carrier = 1;
	port->max_mtu = NET_MAX_PKT_BYTES;
	ret = create_device(local, &port->args);
	if (ret != 0)
		goto free_local;
	for (i = 0; i < port->args.queues * 2u; i++) {
		local->queues[i].kick_fd = vireo_dev_kick_fd(local->dev, i);
		local->queues[i].call_fd = vireo_dev_call_fd(local->dev, i);
	}
	net_port_refresh(eth_dev);
	ret = net_port_negotiate(eth_dev, net_features_base(&port->args));
	if (ret != 0)
		goto destroy_device;
	sync_connected(local);
	net_config_read_mac(eth_dev);
	net_config_read_all(eth_dev);
	report_missing(port);
	pthread_mutex_lock(&local->mutex);
	local->ready = true;
	has_news = local->ctrl_stale || local->config_stale;
	pthread_mutex_unlock(&local->mutex);
	/* What a server's first client brought in the meantime. */
	if (has_news)
		net_port_notify(local);
	return 0;

destroy_device:
	vireo_dev_destroy(local->dev);
free_local:
	destroy_local(eth_dev);
	return ret;
}

void
net_port_destroy(struct rte_eth_dev *eth_dev)
{
	struct net_local *local = net_local_of(eth_dev);
	unsigned int i;

	pthread_mutex_lock(&local->mutex);
	local->closing = true;
	pthread_mutex_unlock(&local->mutex);
	rte_eal_alarm_cancel(tick, local);
	rte_eal_alarm_cancel(run_events, local);
	vireo_dev_destroy(local->dev);
	for (i = 0; i < VIREO_NET_PAIRS_MAX; i++) {
		net_rx_queue_release(eth_dev, i);
		net_tx_queue_release(eth_dev, i);
	}
	net_intr_teardown(eth_dev);
	destroy_local(eth_dev);
}

/* --- start and stop --------------------------------------------------------------- */

static int
start_device(struct rte_eth_dev *eth_dev)
{
	struct net_local *local = net_local_of(eth_dev);
	const struct rte_eth_dev_data *data = eth_dev->data;
	struct vireo_dev_queue queues[VIREO_NET_PAIRS_MAX * 2];
	uint16_t nb = 0, i;

	for (i = 0; i < RTE_MAX(data->nb_rx_queues, data->nb_tx_queues); i++) {
		if (i < data->nb_rx_queues)
			queues[nb++] = (struct vireo_dev_queue){
				.idx = VIREO_NET_RXQ_IDX(i),
				.vq = &local->rxqs[i]->vq,
				.enabled = !local->rxqs[i]->deferred,
				.want_call = data->dev_conf.intr_conf.rxq,
			};
		if (i < data->nb_tx_queues)
			queues[nb++] = (struct vireo_dev_queue){
				.idx = VIREO_NET_TXQ_IDX(i),
				.vq = &local->txqs[i]->vq,
				.enabled = !local->txqs[i]->deferred,
			};
	}
	return vireo_dev_start(local->dev, queues, nb);
}

int
net_dev_start(struct rte_eth_dev *eth_dev)
{
	struct net_port *port = net_port_of(eth_dev);
	struct net_local *local = net_local_of(eth_dev);
	int ret;

	ret = net_queues_prepare(eth_dev);
	if (ret != 0)
		return ret;
	net_rxtx_select(eth_dev);
	ret = start_device(eth_dev);
	if (ret != 0) {
		LOG(ERR, "port %u: the device does not start: %s", port->port_id, strerror(-ret));
		net_queues_drain(local);
		return ret;
	}
	net_queues_open(eth_dev);
	pthread_mutex_lock(&local->mutex);
	port->started = 1;
	arm_tick(local);
	pthread_mutex_unlock(&local->mutex);
	if (sync_connected(local)) {
		net_config_read_all(eth_dev);
		net_ctrl_restore(eth_dev);
	}
	net_link_publish(eth_dev);
	net_numa_check(eth_dev);
	return 0;
}

int
net_dev_stop(struct rte_eth_dev *eth_dev)
{
	struct net_port *port = net_port_of(eth_dev);
	struct net_local *local = net_local_of(eth_dev);

	pthread_mutex_lock(&local->mutex);
	port->started = 0;
	pthread_mutex_unlock(&local->mutex);
	rte_eal_alarm_cancel(tick, local);
	/* An event that runs now may still use mbufs of a pool that is freed after stop. */
	rte_eal_alarm_cancel(run_events, local);
	net_queues_close(eth_dev);
	vireo_dev_stop(local->dev);
	net_queues_drain(local);
	net_limbo_flush(local);
	net_link_publish(eth_dev);
	return 0;
}

int
net_dev_close(struct rte_eth_dev *eth_dev)
{
	/* A secondary process holds nothing of its own. */
	if (net_local_of(eth_dev) == NULL)
		return 0;
	if (net_port_of(eth_dev)->started)
		net_dev_stop(eth_dev);
	net_port_destroy(eth_dev);
	return 0;
}

int
net_dev_reset(struct rte_eth_dev *eth_dev)
{
	struct net_port *port = net_port_of(eth_dev);
	int ret;

	/* ethdev has stopped the port: rings are drained. Start over as after probe. */
	net_port_refresh(eth_dev);
	ret = net_port_negotiate(eth_dev, net_features_base(&port->args));
	if (ret != 0)
		return ret;
	port->nb_mc = 0;
	memset(&port->rss, 0, sizeof(port->rss));
	net_config_read_all(eth_dev);
	return 0;
}
