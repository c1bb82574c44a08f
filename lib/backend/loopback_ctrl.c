/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#include <string.h>

#include "loopback_priv.h"

/* The commands of VIRTIO 1.3 section 5.1.6.5, as the device does them. */

#define CTRL_MAX_BYTES 8192
#define VLAN_MAX 4095

struct cmd {
	struct net_ctrl_hdr hdr;
	const uint8_t *data;
	uint32_t len_bytes;
};

static bool
has(const struct vireo_loopback *lb, uint64_t feature)
{
	return (lb->features & feature) != 0;
}

void
lb_ctrl_reset(struct vireo_loopback *lb)
{
	/* Until the driver says otherwise a device passes everything. */
	lb->state.promisc = true;
	lb->state.allmulti = false;
	lb->state.nb_vlans = 0;
	lb->state.nb_pairs = 1;
	lb->state.guest_offloads = 0;
	memset(&lb->unicast, 0, sizeof(lb->unicast));
	memset(&lb->multicast, 0, sizeof(lb->multicast));
	memset(lb->vlans, 0, sizeof(lb->vlans));
	memset(&lb->rss, 0, sizeof(lb->rss));
}

/* Section 5.1.6.5.1. */
static bool
cmd_rx(struct vireo_loopback *lb, const struct cmd *c)
{
	if (!has(lb, VIREO_NET_F_CTRL_RX) || c->len_bytes != 1 || c->data[0] > 1)
		return false;
	switch (c->hdr.cmd) {
	case VIREO_NET_CTRL_RX_PROMISC:
		lb->state.promisc = c->data[0];
		return true;
	case VIREO_NET_CTRL_RX_ALLMULTI:
		lb->state.allmulti = c->data[0];
		return true;
	default:
		return false;
	}
}

/* One of the two tables of MAC_TABLE_SET: a count and as many addresses. */
static bool
read_mac_table(const struct cmd *c, uint32_t *at, struct lb_mac_table *table)
{
	uint32_t nb, i;

	if (c->len_bytes - *at < sizeof(nb))
		return false;
	memcpy(&nb, c->data + *at, sizeof(nb));
	*at += sizeof(nb);
	if (nb > (c->len_bytes - *at) / 6)
		return false;
	memset(table, 0, sizeof(*table));
	table->overflow = nb > VIREO_NET_MAC_TABLE_MAX;
	for (i = 0; i < nb && i < VIREO_NET_MAC_TABLE_MAX; i++)
		memcpy(table->mac[table->nb++], c->data + *at + i * 6, 6);
	*at += nb * 6;
	return true;
}

/* Section 5.1.6.5.2. */
static bool
cmd_mac(struct vireo_loopback *lb, const struct cmd *c)
{
	struct lb_mac_table unicast, multicast;
	uint32_t at = 0;

	switch (c->hdr.cmd) {
	case VIREO_NET_CTRL_MAC_TABLE_SET:
		if (!has(lb, VIREO_NET_F_CTRL_RX) || !read_mac_table(c, &at, &unicast) ||
		    !read_mac_table(c, &at, &multicast) || at != c->len_bytes)
			return false;
		lb->unicast = unicast;
		lb->multicast = multicast;
		return true;
	case VIREO_NET_CTRL_MAC_ADDR_SET:
		if (!has(lb, VIREO_NET_F_CTRL_MAC_ADDR) || c->len_bytes != 6)
			return false;
		memcpy(lb->config.mac, c->data, 6);
		return true;
	default:
		return false;
	}
}

/* Section 5.1.6.5.3. */
static bool
cmd_vlan(struct vireo_loopback *lb, const struct cmd *c)
{
	uint16_t vlan;
	uint8_t bit;
	bool was;

	if (!has(lb, VIREO_NET_F_CTRL_VLAN) || c->len_bytes != sizeof(vlan) ||
	    c->hdr.cmd > VIREO_NET_CTRL_VLAN_DEL)
		return false;
	memcpy(&vlan, c->data, sizeof(vlan));
	if (vlan > VLAN_MAX)
		return false;
	bit = (uint8_t)(1U << (vlan % 8));
	was = (lb->vlans[vlan / 8] & bit) != 0;
	if (c->hdr.cmd == VIREO_NET_CTRL_VLAN_ADD) {
		lb->vlans[vlan / 8] |= bit;
		lb->state.nb_vlans += !was;
	} else {
		lb->vlans[vlan / 8] &= (uint8_t)~bit;
		lb->state.nb_vlans -= was;
	}
	return true;
}

/* Section 5.1.6.5.4. */
static bool
cmd_announce(struct vireo_loopback *lb, const struct cmd *c)
{
	if (!has(lb, VIREO_NET_F_GUEST_ANNOUNCE) || c->len_bytes != 0 ||
	    c->hdr.cmd != VIREO_NET_CTRL_ANNOUNCE_ACK)
		return false;
	lb->config.status &= (uint16_t)~VIREO_NET_S_ANNOUNCE;
	lb->state.nb_announce_acks++;
	return true;
}

static bool
take(const struct cmd *c, uint32_t *at, void *to, uint32_t len_bytes)
{
	if (c->len_bytes - *at < len_bytes)
		return false;
	memcpy(to, c->data + *at, len_bytes);
	*at += len_bytes;
	return true;
}

/* Sections 5.1.6.5.6.4 and 5.1.6.5.7: the key, alike at the end of both commands. */
static bool
take_key(const struct cmd *c, uint32_t *at, struct lb_rss *rss)
{
	uint8_t key_len;

	return take(c, at, &key_len, sizeof(key_len)) && key_len <= VIREO_NET_RSS_KEY_BYTES &&
		take(c, at, rss->key, key_len) && *at == c->len_bytes;
}

/* Section 5.1.6.5.7: struct virtio_net_rss_config. */
static bool
cmd_rss(struct vireo_loopback *lb, const struct cmd *c)
{
	struct lb_rss rss = { 0 };
	uint16_t mask, max_tx;
	uint32_t at = 0, i;

	if (!has(lb, VIREO_NET_F_RSS) || !take(c, &at, &rss.hash_types, sizeof(rss.hash_types)) ||
	    !take(c, &at, &mask, sizeof(mask)) || mask >= VIREO_NET_RSS_TABLE_MAX ||
	    ((mask + 1) & mask) != 0 || !take(c, &at, &rss.unclassified, sizeof(rss.unclassified)))
		return false;
	rss.table_len = mask + 1;
	if (!take(c, &at, rss.table, rss.table_len * sizeof(rss.table[0])) ||
	    !take(c, &at, &max_tx, sizeof(max_tx)) || max_tx == 0 || max_tx > lb->conf.nb_pairs ||
	    !take_key(c, &at, &rss))
		return false;
	if (rss.unclassified >= lb->conf.nb_pairs ||
	    (rss.hash_types & ~lb->config.supported_hash_types) != 0)
		return false;
	for (i = 0; i < rss.table_len; i++)
		if (rss.table[i] >= lb->conf.nb_pairs)
			return false;
	lb->rss = rss;
	lb->state.nb_pairs = max_tx;
	return true;
}

/* Section 5.1.6.5.6.4: struct virtio_net_hash_config. */
static bool
cmd_hash(struct vireo_loopback *lb, const struct cmd *c)
{
	struct lb_rss rss = { 0 };
	uint16_t reserved[4];
	uint32_t at = 0;

	if (!has(lb, VIREO_NET_F_HASH_REPORT) ||
	    !take(c, &at, &rss.hash_types, sizeof(rss.hash_types)) ||
	    !take(c, &at, reserved, sizeof(reserved)) || !take_key(c, &at, &rss) ||
	    (rss.hash_types & ~lb->config.supported_hash_types) != 0)
		return false;
	lb->rss = rss;
	return true;
}

/* Section 5.1.6.5.5. */
static bool
cmd_mq(struct vireo_loopback *lb, const struct cmd *c)
{
	uint16_t pairs;

	switch (c->hdr.cmd) {
	case VIREO_NET_CTRL_MQ_VQ_PAIRS_SET:
		if (!has(lb, VIREO_NET_F_MQ) || c->len_bytes != sizeof(pairs))
			return false;
		memcpy(&pairs, c->data, sizeof(pairs));
		if (pairs == 0 || pairs > lb->conf.nb_pairs)
			return false;
		lb->state.nb_pairs = pairs;
		/* Automatic steering takes the place of RSS. */
		lb->rss.table_len = 0;
		return true;
	case VIREO_NET_CTRL_MQ_RSS_CONFIG:
		return cmd_rss(lb, c);
	case VIREO_NET_CTRL_MQ_HASH_CONFIG:
		return cmd_hash(lb, c);
	default:
		return false;
	}
}

/* Section 5.1.6.5.8. */
static bool
cmd_offloads(struct vireo_loopback *lb, const struct cmd *c)
{
	uint64_t offloads;

	if (!has(lb, VIREO_NET_F_CTRL_GUEST_OFFLOADS) || c->len_bytes != sizeof(offloads) ||
	    c->hdr.cmd != VIREO_NET_CTRL_GUEST_OFFLOADS_SET)
		return false;
	memcpy(&offloads, c->data, sizeof(offloads));
	if ((offloads & ~lb->features) != 0)
		return false;
	lb->state.guest_offloads = offloads;
	return true;
}

static bool
execute(struct vireo_loopback *lb, const struct cmd *c)
{
	switch (c->hdr.class_id) {
	case VIREO_NET_CTRL_RX:
		return cmd_rx(lb, c);
	case VIREO_NET_CTRL_MAC:
		return cmd_mac(lb, c);
	case VIREO_NET_CTRL_VLAN:
		return cmd_vlan(lb, c);
	case VIREO_NET_CTRL_ANNOUNCE:
		return cmd_announce(lb, c);
	case VIREO_NET_CTRL_MQ:
		return cmd_mq(lb, c);
	case VIREO_NET_CTRL_GUEST_OFFLOADS:
		return cmd_offloads(lb, c);
	default:
		return false;
	}
}

/* One command: everything readable in one piece, the answer in the first writable byte. */
static uint32_t
serve_one(struct vireo_loopback *lb, const struct vq_chain *ch, enum vireo_loopback_fault fault)
{
	uint8_t buf[CTRL_MAX_BYTES];
	struct cmd c = { .data = buf + sizeof(c.hdr) };
	uint32_t at = 0;
	uint8_t ack = VIREO_NET_ACK_ERR;
	uint16_t i;

	if (ch->in_bytes == 0)
		return 0;
	if (ch->out_bytes >= sizeof(c.hdr) && ch->out_bytes <= sizeof(buf)) {
		for (i = 0; i < ch->nb_out; i++) {
			memcpy(buf + at, ch->iov[i].base, ch->iov[i].len);
			at += ch->iov[i].len;
		}
		memcpy(&c.hdr, buf, sizeof(c.hdr));
		c.len_bytes = at - sizeof(c.hdr);
		if (fault != VIREO_LOOPBACK_FAULT_REFUSE && execute(lb, &c))
			ack = VIREO_NET_ACK_OK;
	}
	lb->state.nb_commands++;
	if (fault == VIREO_LOOPBACK_FAULT_NO_ACK)
		return 0;
	*(uint8_t *)ch->iov[ch->nb_out].base = ack;
	return sizeof(ack);
}

void
lb_ctrl_serve(struct vireo_loopback *lb)
{
	struct lb_queue *q = &lb->queues[lb_ctrl_idx(lb)];
	const uint32_t f = q->vq.flags;
	struct vq_take t;

	if (!has(lb, VIREO_NET_F_CTRL_VQ) || !lb_runs(lb, q) ||
	    q->fault == VIREO_LOOPBACK_FAULT_SILENT)
		return;
	do {
		if (vq_dev_begin(&q->vq, &t, f) <= 0)
			continue;
		lb->chain->max = LB_TX_IOV;
		while (vq_dev_next(&q->vq, &t, lb->chain, f) > 0)
			lb_use(q, lb->chain->id, lb->chain->nb_slots,
			       serve_one(lb, lb->chain, q->fault));
		lb_publish(q);
	} while (vq_dev_arm(&q->vq, f));
}
