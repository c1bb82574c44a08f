/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_ethdev.h>
#include <rte_memzone.h>

#include "devargs.h"
#include "ethdev.h"
#include "log.h"

/*
 * Telemetry: /vireo/net/list, /vireo/net/info,<port>, /vireo/net/queue,<port>,<queue>.
 * Commands run in telemetry's thread; what they read of a port is in shared memory, so that
 * they work in secondary processes too, save what only the primary's device knows.
 */

#define HEX_BYTES 24

static bool
is_ours(uint16_t port_id)
{
	const struct rte_device *device = rte_eth_devices[port_id].device;

	return device != NULL && device->driver != NULL && device->driver->name != NULL &&
		strcmp(device->driver->name, "net_vireo") == 0;
}

static void
add_hex(struct rte_tel_data *d, const char *name, uint64_t value)
{
	char text[HEX_BYTES];

	snprintf(text, sizeof(text), "0x%" PRIx64, value);
	rte_tel_data_add_dict_string(d, name, text);
}

static int
list_ports(const char *cmd __rte_unused, const char *params __rte_unused, struct rte_tel_data *d)
{
	uint16_t port_id;

	rte_tel_data_start_array(d, RTE_TEL_INT_VAL);
	RTE_ETH_FOREACH_DEV(port_id)
		if (is_ours(port_id))
			rte_tel_data_add_array_int(d, port_id);
	return 0;
}

/* "<number>" or "<number>,<number>"; what is missing or wrong is -EINVAL. */
static int
parse_params(const char *params, unsigned int nb, unsigned long *values)
{
	unsigned int i;
	char *end;

	for (i = 0; i < nb; i++) {
		if (params == NULL || *params < '0' || *params > '9')
			return -EINVAL;
		values[i] = strtoul(params, &end, 10);
		if (*end != (i + 1 < nb ? ',' : '\0'))
			return -EINVAL;
		params = end + 1;
	}
	return values[0] < RTE_MAX_ETHPORTS && rte_eth_dev_is_valid_port(values[0]) &&
			is_ours(values[0])
		? 0
		: -EINVAL;
}

static void
add_device(struct net_local *local, struct rte_tel_data *d)
{
	struct vireo_dev_info info;

	vireo_dev_info_get(local->dev, &info);
	rte_tel_data_add_dict_string(d, "transport", info.transport);
	rte_tel_data_add_dict_int(d, "device_status", info.status);
	rte_tel_data_add_dict_int(d, "device_queues", info.nb_queues);
	net_tel_dict_u64(d, "connects", info.nb_connects);
	net_tel_dict_u64(d, "disconnects", info.nb_disconnects);
	net_tel_dict_u64(d, "timeouts", info.nb_timeouts);
	rte_tel_data_add_dict_string(d, "last_error", info.last_error);
}

static int
port_info(const char *cmd __rte_unused, const char *params, struct rte_tel_data *d)
{
	const struct rte_eth_dev *eth_dev;
	const struct net_port *port;
	unsigned long port_id;

	if (parse_params(params, 1, &port_id) != 0)
		return -EINVAL;
	eth_dev = &rte_eth_devices[port_id];
	port = net_port_of(eth_dev);
	rte_tel_data_start_dict(d);
	rte_tel_data_add_dict_string(d, "name", eth_dev->data->name);
	rte_tel_data_add_dict_string(d, "path", port->args.path);
	rte_tel_data_add_dict_int(d, "server", port->args.server);
	rte_tel_data_add_dict_int(d, "started", port->started);
	rte_tel_data_add_dict_int(d, "connected", port->connected);
	add_hex(d, "features_offered", port->offered);
	add_hex(d, "features_negotiated", port->negotiated);
	rte_tel_data_add_dict_string(d, "ring",
				     port->negotiated & VIREO_F_RING_PACKED ? "packed" : "split");
	rte_tel_data_add_dict_string(d, "indirect", net_indirect_name(port->args.indirect));
	rte_tel_data_add_dict_int(d, "rx_queues", eth_dev->data->nb_rx_queues);
	rte_tel_data_add_dict_int(d, "tx_queues", eth_dev->data->nb_tx_queues);
	rte_tel_data_add_dict_int(d, "queue_pairs_max", port->nb_pairs_max);
	net_tel_dict_u64(d, "broken_queues", port->nb_broken);
	rte_tel_data_add_dict_int(d, "numa_mismatch", port->numa_reported);
	if (net_local_of(eth_dev) != NULL)
		add_device(net_local_of(eth_dev), d);
	return 0;
}

static void
add_ring(struct rte_tel_data *d, const char *direction, const struct vq_drv *vq,
	 const struct rte_memzone *mz)
{
	char name[32];

	snprintf(name, sizeof(name), "%s_ring_size", direction);
	rte_tel_data_add_dict_int(d, name, vq->size);
	snprintf(name, sizeof(name), "%s_in_flight", direction);
	rte_tel_data_add_dict_int(d, name, vq->limit - vq->nb_free);
	snprintf(name, sizeof(name), "%s_out_of_order", direction);
	rte_tel_data_add_dict_int(d, name, vq->scrambled);
	snprintf(name, sizeof(name), "%s_kicks", direction);
	net_tel_dict_u64(d, name, vq->nb_kicks);
	snprintf(name, sizeof(name), "%s_state", direction);
	rte_tel_data_add_dict_string(d, name,
				     vq->broken == VQ_OK ? "ok"
							 : vireo_vq_violation_str(vq->broken));
	snprintf(name, sizeof(name), "%s_ring_node", direction);
	rte_tel_data_add_dict_int(d, name, mz == NULL ? -1 : net_numa_node_of(mz->addr));
}

static void
add_rxq(struct rte_tel_data *d, const struct net_rxq *rxq)
{
	rte_tel_data_add_dict_int(d, "rx_started", rxq->started);
	rte_tel_data_add_dict_int(d, "rx_descriptors", rxq->nb_desc);
	rte_tel_data_add_dict_int(d, "rx_buffer_bytes", rxq->buf_bytes);
	rte_tel_data_add_dict_string(d, "rx_pool", rxq->mp->name);
	rte_tel_data_add_dict_int(d, "rx_pool_node", rxq->mp->socket_id);
	rte_tel_data_add_dict_int(d, "rx_node_wanted", rxq->socket_id);
	add_ring(d, "rx", &rxq->vq, rxq->mz);
}

static void
add_txq(struct rte_tel_data *d, const struct net_txq *txq)
{
	rte_tel_data_add_dict_int(d, "tx_started", txq->started);
	rte_tel_data_add_dict_int(d, "tx_descriptors", txq->nb_desc);
	rte_tel_data_add_dict_string(d, "tx_indirect", net_indirect_name(txq->indirect));
	rte_tel_data_add_dict_int(d, "tx_free_tables", vireo_vq_nb_free_tables(&txq->vq));
	rte_tel_data_add_dict_int(d, "tx_node_wanted", txq->socket_id);
	add_ring(d, "tx", &txq->vq, txq->mz);
}

static int
queue_info(const char *cmd __rte_unused, const char *params, struct rte_tel_data *d)
{
	const struct rte_eth_dev_data *data;
	unsigned long values[2];

	if (parse_params(params, 2, values) != 0)
		return -EINVAL;
	data = rte_eth_devices[values[0]].data;
	if (values[1] >= data->nb_rx_queues && values[1] >= data->nb_tx_queues)
		return -EINVAL;
	rte_tel_data_start_dict(d);
	if (values[1] < data->nb_rx_queues && data->rx_queues[values[1]] != NULL)
		add_rxq(d, data->rx_queues[values[1]]);
	if (values[1] < data->nb_tx_queues && data->tx_queues[values[1]] != NULL)
		add_txq(d, data->tx_queues[values[1]]);
	return 0;
}

RTE_INIT(net_telemetry_init)
{
	rte_telemetry_register_cmd("/vireo/net/list", list_ports,
				   "Ports of net_vireo. Takes no parameters");
	rte_telemetry_register_cmd("/vireo/net/info", port_info,
				   "State of a net_vireo port. Parameters: port_id");
	rte_telemetry_register_cmd(
		"/vireo/net/queue", queue_info,
		"State of a queue pair of a net_vireo port. Parameters: port_id,queue_id");
}
