/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_kvargs.h>
#include <rte_memzone.h>

#include "devargs.h"
#include "ethdev.h"
#include "log.h"

/*
 * The vdev driver: probe and remove, in primary and secondary processes, and the tables
 * of ethdev ops.
 */

RTE_LOG_REGISTER(net_vireo_logtype, pmd.net.vireo, NOTICE);

static const struct eth_dev_ops primary_ops = {
	.dev_configure = net_dev_configure,
	.dev_start = net_dev_start,
	.dev_stop = net_dev_stop,
	.dev_close = net_dev_close,
	.dev_reset = net_dev_reset,
	.dev_infos_get = net_dev_infos_get,
	.dev_supported_ptypes_get = net_supported_ptypes_get,
	.link_update = net_link_update,
	.promiscuous_enable = net_promiscuous_enable,
	.promiscuous_disable = net_promiscuous_disable,
	.allmulticast_enable = net_allmulticast_enable,
	.allmulticast_disable = net_allmulticast_disable,
	.mac_addr_add = net_mac_addr_add,
	.mac_addr_remove = net_mac_addr_remove,
	.mac_addr_set = net_mac_addr_set,
	.set_mc_addr_list = net_set_mc_addr_list,
	.mtu_set = net_mtu_set,
	.vlan_filter_set = net_vlan_filter_set,
	.vlan_offload_set = net_vlan_offload_set,
	.rss_hash_update = net_rss_hash_update,
	.rss_hash_conf_get = net_rss_hash_conf_get,
	.reta_update = net_reta_update,
	.reta_query = net_reta_query,
	.rx_queue_setup = net_rx_queue_setup,
	.rx_queue_release = net_rx_queue_release,
	.rx_queue_start = net_rx_queue_start,
	.rx_queue_stop = net_rx_queue_stop,
	.rx_queue_intr_enable = net_rx_queue_intr_enable,
	.rx_queue_intr_disable = net_rx_queue_intr_disable,
	.rxq_info_get = net_rxq_info_get,
	.rx_burst_mode_get = net_rx_burst_mode_get,
	.get_monitor_addr = net_rx_monitor_addr,
	.tx_queue_setup = net_tx_queue_setup,
	.tx_queue_release = net_tx_queue_release,
	.tx_queue_start = net_tx_queue_start,
	.tx_queue_stop = net_tx_queue_stop,
	.txq_info_get = net_txq_info_get,
	.tx_burst_mode_get = net_tx_burst_mode_get,
	.tx_done_cleanup = net_tx_done_cleanup,
	.stats_get = net_stats_get,
	.stats_reset = net_stats_reset,
	.xstats_get = net_xstats_get,
	.xstats_get_names = net_xstats_get_names,
	.xstats_get_by_id = net_xstats_get_by_id,
	.xstats_get_names_by_id = net_xstats_get_names_by_id,
	.xstats_reset = net_stats_reset,
	.queue_stats_mapping_set = net_queue_stats_mapping_set,
};

/* What a secondary process can do: look, and reset statistics. */
static const struct eth_dev_ops secondary_ops = {
	.dev_close = net_dev_close,
	.dev_infos_get = net_dev_infos_get,
	.dev_supported_ptypes_get = net_supported_ptypes_get,
	.link_update = net_link_update,
	.rxq_info_get = net_rxq_info_get,
	.txq_info_get = net_txq_info_get,
	.stats_get = net_stats_get,
	.stats_reset = net_stats_reset,
	.xstats_get = net_xstats_get,
	.xstats_get_names = net_xstats_get_names,
	.xstats_get_by_id = net_xstats_get_by_id,
	.xstats_get_names_by_id = net_xstats_get_names_by_id,
	.xstats_reset = net_stats_reset,
	.queue_stats_mapping_set = net_queue_stats_mapping_set,
};

/* --- one copy a process ---------------------------------------------------------- */

/* Where the copy of Vireo that probed first lies. */
struct copy_record {
	pid_t pid;
	const void *where;
};

/*
 * Two copies (linked statically and loaded as a plugin, say) would each have their own
 * turnstiles and log types: refuse the second. Primary process only.
 */
static int
check_single_copy(void)
{
	static const char name[] = "vireo_net_copy";
	const struct rte_memzone *mz = rte_memzone_lookup(name);
	struct copy_record *rec;

	if (mz == NULL)
		mz = rte_memzone_reserve(name, sizeof(*rec), SOCKET_ID_ANY, 0);
	if (mz == NULL) {
		LOG(ERR, "cannot reserve memzone %s", name);
		return -ENOMEM;
	}
	rec = mz->addr;
	if (rec->pid != getpid()) {
		rec->pid = getpid();
		rec->where = &primary_ops;
	}
	if (rec->where != &primary_ops) {
		LOG(ERR,
		    "Vireo is linked twice in this process: expected either the plugin (-d) or the"
		    " linked library");
		return -EEXIST;
	}
	return 0;
}

/* --- probe and remove -------------------------------------------------------------- */

static void
set_fast_ops(struct rte_eth_dev *eth_dev)
{
	eth_dev->rx_queue_count = net_rx_queue_count;
	eth_dev->rx_descriptor_status = net_rx_descriptor_status;
	eth_dev->tx_descriptor_status = net_tx_descriptor_status;
}

static int
init_port(struct rte_eth_dev *eth_dev, const struct net_devargs *args)
{
	struct net_port *port = net_port_of(eth_dev);
	struct rte_eth_dev_data *data = eth_dev->data;
	int ret;

	port->args = *args;
	port->port_id = data->port_id;
	data->mac_addrs =
		rte_zmalloc("vireo_macs", VIREO_NET_MAC_TABLE_MAX * sizeof(*data->mac_addrs), 0);
	if (data->mac_addrs == NULL)
		return -ENOMEM;
	if (args->has_mac)
		port->mac = args->mac;
	else
		rte_eth_random_addr(port->mac.addr_bytes);
	eth_dev->dev_ops = &primary_ops;
	set_fast_ops(eth_dev);
	ret = net_port_create(eth_dev);
	if (ret != 0)
		return ret;
	rte_ether_addr_copy(&port->mac, &data->mac_addrs[0]);
	data->mtu = RTE_MIN(data->mtu, port->max_mtu);
	data->dev_flags |= RTE_ETH_DEV_INTR_LSC | RTE_ETH_DEV_AUTOFILL_QUEUE_XSTATS;
	net_link_publish(eth_dev);
	return 0;
}

static int
probe_primary(struct rte_vdev_device *vdev)
{
	struct net_devargs args;
	struct rte_eth_dev *eth_dev;
	int ret;

	ret = net_devargs_parse(rte_vdev_device_args(vdev), &args);
	if (ret == 0)
		ret = check_single_copy();
	if (ret != 0)
		return ret;
	vireo_turnstile_setup();
	eth_dev = rte_eth_vdev_allocate(vdev, sizeof(struct net_port));
	if (eth_dev == NULL) {
		LOG(ERR, "%s: no ethdev port to be had", rte_vdev_device_name(vdev));
		return -ENOMEM;
	}
	ret = init_port(eth_dev, &args);
	if (ret != 0) {
		LOG(ERR, "%s: not probed: %s", rte_vdev_device_name(vdev), strerror(-ret));
		rte_eth_dev_release_port(eth_dev);
		return ret;
	}
	rte_eth_dev_probing_finish(eth_dev);
	return 0;
}

static int
probe_secondary(struct rte_vdev_device *vdev)
{
	struct rte_eth_dev *eth_dev;

	eth_dev = rte_eth_dev_attach_secondary(rte_vdev_device_name(vdev));
	if (eth_dev == NULL)
		return -ENODEV;
	eth_dev->device = &vdev->device;
	eth_dev->dev_ops = &secondary_ops;
	/* Kick fds and turnstiles belong to the primary: no packets here. */
	eth_dev->rx_pkt_burst = rte_eth_pkt_burst_dummy;
	eth_dev->tx_pkt_burst = rte_eth_pkt_burst_dummy;
	set_fast_ops(eth_dev);
	rte_eth_dev_probing_finish(eth_dev);
	return 0;
}

static int
probe(struct rte_vdev_device *vdev)
{
	if (rte_eal_process_type() == RTE_PROC_SECONDARY)
		return probe_secondary(vdev);
	return probe_primary(vdev);
}

static int
remove_port(struct rte_vdev_device *vdev)
{
	struct rte_eth_dev *eth_dev = rte_eth_dev_allocated(rte_vdev_device_name(vdev));
	uint16_t port_id;

	/* Closed before. */
	if (eth_dev == NULL)
		return 0;
	if (rte_eal_process_type() != RTE_PROC_PRIMARY)
		return rte_eth_dev_release_port(eth_dev);
	port_id = eth_dev->data->port_id;
	if (eth_dev->data->dev_started)
		rte_eth_dev_stop(port_id);
	return rte_eth_dev_close(port_id);
}

static struct rte_vdev_driver net_vireo_driver = {
	.probe = probe,
	.remove = remove_port,
};

RTE_PMD_REGISTER_VDEV(net_vireo, net_vireo_driver);
RTE_PMD_REGISTER_PARAM_STRING(net_vireo, NET_DEVARGS_PARAM_STRING);

/* What dpdk-pmdinfo.py reads; inside DPDK's tree its build makes this text. */
static const char net_vireo_pmd_info[] __attribute__((used)) =
	"PMD_INFO_STRING= {\"name\": \"net_vireo\", \"params\": \"" NET_DEVARGS_PARAM_STRING
	"\", \"pci_ids\": []}";
