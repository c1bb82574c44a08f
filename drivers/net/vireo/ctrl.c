/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#include <string.h>

#include <rte_ethdev.h>

#include "ethdev.h"
#include "log.h"

/*
 * Control commands, VIRTIO 1.3 section 5.1.6.5. The state stands in ethdev's data and in
 * the port; a device that is stopped or not connected is told when it starts or connects.
 */

#define NB_VLANS 4096

int
net_ctrl_send(struct rte_eth_dev *eth_dev, uint8_t class_id, uint8_t cmd, const void *data,
	      uint32_t len_bytes)
{
	int ret;

	if (!net_port_of(eth_dev)->started)
		return 0;
	ret = vireo_dev_ctrl(net_local_of(eth_dev)->dev, class_id, cmd, data, len_bytes);
	if (ret == -ENOTCONN)
		return 0;
	if (ret != 0)
		LOG(ERR, "port %u: control command %u.%u failed: %s", eth_dev->data->port_id,
		    class_id, cmd, strerror(-ret));
	return ret;
}

/* --- receive modes: section 5.1.6.5.1 ----------------------------------------- */

static int
set_rx_mode(struct rte_eth_dev *eth_dev, uint8_t cmd, uint8_t on)
{
	/* A device without the command passes every packet, and so obeys either mode. */
	if (!(net_port_of(eth_dev)->negotiated & VIREO_NET_F_CTRL_RX))
		return 0;
	return net_ctrl_send(eth_dev, VIREO_NET_CTRL_RX, cmd, &on, sizeof(on));
}

int
net_promiscuous_enable(struct rte_eth_dev *eth_dev)
{
	return set_rx_mode(eth_dev, VIREO_NET_CTRL_RX_PROMISC, 1);
}

int
net_promiscuous_disable(struct rte_eth_dev *eth_dev)
{
	return set_rx_mode(eth_dev, VIREO_NET_CTRL_RX_PROMISC, 0);
}

int
net_allmulticast_enable(struct rte_eth_dev *eth_dev)
{
	return set_rx_mode(eth_dev, VIREO_NET_CTRL_RX_ALLMULTI, 1);
}

int
net_allmulticast_disable(struct rte_eth_dev *eth_dev)
{
	return set_rx_mode(eth_dev, VIREO_NET_CTRL_RX_ALLMULTI, 0);
}

/* --- MAC addresses: section 5.1.6.5.2 ------------------------------------------ */

/* One of the command's two lists; in memory only the entries that are used count. */
struct mac_list {
	uint32_t nb;
	struct rte_ether_addr mac[VIREO_NET_MAC_TABLE_MAX * 2];
};

static void
list_add(struct mac_list *list, const struct rte_ether_addr *mac)
{
	rte_ether_addr_copy(mac, &list->mac[list->nb++]);
}

static size_t
list_put(uint8_t *to, const struct mac_list *list)
{
	size_t len = sizeof(list->nb) + list->nb * sizeof(list->mac[0]);

	memcpy(to, &list->nb, sizeof(list->nb));
	memcpy(to + sizeof(list->nb), list->mac, len - sizeof(list->nb));
	return len;
}

/* changed_idx has changed to mac (NULL: removed) and does not stand in ethdev's table yet. */
static int
send_mac_table(struct rte_eth_dev *eth_dev, uint32_t changed_idx, const struct rte_ether_addr *mac)
{
	const struct net_port *port = net_port_of(eth_dev);
	struct mac_list unicast = { 0 }, multicast = { 0 };
	uint8_t data[sizeof(unicast) + sizeof(multicast)];
	const struct rte_ether_addr *a;
	uint32_t i;
	size_t len;

	/* Without the command the device passes every address. */
	if (!(port->negotiated & VIREO_NET_F_CTRL_MAC_ADDR))
		return 0;
	/* Entry 0 is the port's own address, which has its own command. */
	for (i = 1; i < VIREO_NET_MAC_TABLE_MAX; i++) {
		a = i == changed_idx ? mac : &eth_dev->data->mac_addrs[i];
		if (a != NULL && !rte_is_zero_ether_addr(a))
			list_add(rte_is_multicast_ether_addr(a) ? &multicast : &unicast, a);
	}
	for (i = 0; i < port->nb_mc; i++)
		list_add(&multicast, &port->mc[i]);
	len = list_put(data, &unicast);
	len += list_put(data + len, &multicast);
	return net_ctrl_send(eth_dev, VIREO_NET_CTRL_MAC, VIREO_NET_CTRL_MAC_TABLE_SET, data, len);
}

int
net_mac_addr_add(struct rte_eth_dev *eth_dev, struct rte_ether_addr *mac, uint32_t index,
		 uint32_t vmdq __rte_unused)
{
	if (index >= VIREO_NET_MAC_TABLE_MAX)
		return -EINVAL;
	if (index == 0)
		return net_mac_addr_set(eth_dev, mac);
	return send_mac_table(eth_dev, index, mac);
}

void
net_mac_addr_remove(struct rte_eth_dev *eth_dev, uint32_t index)
{
	if (index < VIREO_NET_MAC_TABLE_MAX)
		send_mac_table(eth_dev, index, NULL);
}

int
net_mac_addr_set(struct rte_eth_dev *eth_dev, struct rte_ether_addr *mac)
{
	struct net_port *port = net_port_of(eth_dev);
	int ret = 0;

	if (port->negotiated & VIREO_NET_F_CTRL_MAC_ADDR)
		ret = net_ctrl_send(eth_dev, VIREO_NET_CTRL_MAC, VIREO_NET_CTRL_MAC_ADDR_SET, mac,
				    sizeof(*mac));
	if (ret == 0)
		rte_ether_addr_copy(mac, &port->mac);
	return ret;
}

int
net_set_mc_addr_list(struct rte_eth_dev *eth_dev, struct rte_ether_addr *list, uint32_t nb)
{
	struct net_port *port = net_port_of(eth_dev);
	uint32_t old_nb = port->nb_mc;
	struct rte_ether_addr old[VIREO_NET_MAC_TABLE_MAX];
	int ret;

	if (nb > VIREO_NET_MAC_TABLE_MAX) {
		LOG(ERR, "port %u: %u multicast addresses are refused: expected at most %u",
		    port->port_id, nb, VIREO_NET_MAC_TABLE_MAX);
		return -ENOSPC;
	}
	memcpy(old, port->mc, sizeof(old));
	if (nb != 0)
		memcpy(port->mc, list, nb * sizeof(*list));
	port->nb_mc = nb;
	ret = send_mac_table(eth_dev, UINT32_MAX, NULL);
	if (ret != 0) {
		memcpy(port->mc, old, sizeof(old));
		port->nb_mc = old_nb;
	}
	return ret;
}

/* --- VLAN: section 5.1.6.5.3 ----------------------------------------------------- */

int
net_vlan_filter_set(struct rte_eth_dev *eth_dev, uint16_t vlan_id, int on)
{
	if (!(net_port_of(eth_dev)->negotiated & VIREO_NET_F_CTRL_VLAN))
		return -ENOTSUP;
	return net_ctrl_send(eth_dev, VIREO_NET_CTRL_VLAN,
			     on ? VIREO_NET_CTRL_VLAN_ADD : VIREO_NET_CTRL_VLAN_DEL, &vlan_id,
			     sizeof(vlan_id));
}

static bool
vlan_is_wanted(const struct rte_eth_dev *eth_dev, uint16_t vlan_id)
{
	const struct rte_vlan_filter_conf *conf = &eth_dev->data->vlan_filter_conf;

	return (conf->ids[vlan_id / 64] >> (vlan_id % 64)) & 1;
}

/*
 * A device with CTRL_VLAN negotiated starts with an empty table and always filters: not
 * filtering means having all of them in the table.
 */
static int
send_vlans(struct rte_eth_dev *eth_dev, bool filtering, bool fresh)
{
	uint16_t id;
	int ret = 0;

	for (id = 0; id < NB_VLANS && ret == 0; id++) {
		bool wanted = !filtering || vlan_is_wanted(eth_dev, id);

		if (wanted || !fresh)
			ret = net_vlan_filter_set(eth_dev, id, wanted);
	}
	return ret;
}

int
net_vlan_offload_set(struct rte_eth_dev *eth_dev, int mask)
{
	uint64_t offloads = eth_dev->data->dev_conf.rxmode.offloads;
	bool filtering = (offloads & RTE_ETH_RX_OFFLOAD_VLAN_FILTER) != 0;
	bool able = (net_port_of(eth_dev)->negotiated & VIREO_NET_F_CTRL_VLAN) != 0;
	int ret;

	if (mask & RTE_ETH_VLAN_FILTER_MASK) {
		if (filtering && !able) {
			LOG(ERR,
			    "port %u: no VLAN filter: expected the VLAN_FILTER offload at configure,"
			    " and a device that has it",
			    eth_dev->data->port_id);
			return -ENOTSUP;
		}
		ret = able ? send_vlans(eth_dev, filtering, false) : 0;
		if (ret != 0)
			return ret;
	}
	if (mask & RTE_ETH_VLAN_STRIP_MASK)
		net_queues_update_rx(eth_dev);
	return 0;
}

/* --- everything again ---------------------------------------------------------------- */

/* Section 5.1.6.5.5, or 5.1.6.5.7 with RSS: how many pairs are in use. */
static void
send_queues(struct rte_eth_dev *eth_dev)
{
	const struct net_port *port = net_port_of(eth_dev);
	uint16_t nb_pairs = RTE_MAX(eth_dev->data->nb_rx_queues, eth_dev->data->nb_tx_queues);
	int ret;

	if (port->negotiated & (VIREO_NET_F_RSS | VIREO_NET_F_HASH_REPORT)) {
		ret = net_rss_apply(eth_dev);
		if (ret != 0 && ret != -ENOTCONN)
			LOG(ERR, "port %u: the device refuses the RSS configuration: %s",
			    port->port_id, strerror(-ret));
	}
	if ((port->negotiated & VIREO_NET_F_MQ) && !(port->negotiated & VIREO_NET_F_RSS))
		net_ctrl_send(eth_dev, VIREO_NET_CTRL_MQ, VIREO_NET_CTRL_MQ_VQ_PAIRS_SET, &nb_pairs,
			      sizeof(nb_pairs));
}

void
net_ctrl_restore(struct rte_eth_dev *eth_dev)
{
	const struct net_port *port = net_port_of(eth_dev);
	const struct rte_eth_dev_data *data = eth_dev->data;

	if (!(port->negotiated & VIREO_NET_F_CTRL_VQ))
		return;
	send_queues(eth_dev);
	set_rx_mode(eth_dev, VIREO_NET_CTRL_RX_PROMISC, data->promiscuous);
	set_rx_mode(eth_dev, VIREO_NET_CTRL_RX_ALLMULTI, data->all_multicast);
	if (port->negotiated & VIREO_NET_F_CTRL_MAC_ADDR) {
		net_ctrl_send(eth_dev, VIREO_NET_CTRL_MAC, VIREO_NET_CTRL_MAC_ADDR_SET,
			      &data->mac_addrs[0], sizeof(data->mac_addrs[0]));
		send_mac_table(eth_dev, UINT32_MAX, NULL);
	}
	if (port->negotiated & VIREO_NET_F_CTRL_VLAN)
		send_vlans(eth_dev,
			   (data->dev_conf.rxmode.offloads & RTE_ETH_RX_OFFLOAD_VLAN_FILTER) != 0,
			   true);
}
