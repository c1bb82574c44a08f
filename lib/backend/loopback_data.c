/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#include <string.h>
#include <unistd.h>

#include "loopback_priv.h"

/* Frames of the loopback device: out of the driver's Tx buffers, into its Rx buffers. */

#define ETH_ADDR_BYTES 6
#define ETH_TYPE_AT 12
#define ETH_TYPE_VLAN_HI 0x81
#define ETH_TYPE_VLAN_LO 0x00
#define SOURCE_BYTES 64

bool
lb_runs(const struct vireo_loopback *lb, const struct lb_queue *q)
{
	return q->set && q->enabled && q->vq.broken == 0 &&
		(lb->status & VIREO_STATUS_DRIVER_OK) != 0;
}

static bool
has(const struct vireo_loopback *lb, uint64_t feature)
{
	return (lb->features & feature) != 0;
}

/* Out of order as configured, but never against IN_ORDER. */
static uint16_t
reorder(const struct vireo_loopback *lb)
{
	return has(lb, VIREO_F_IN_ORDER) || lb->conf.reorder == 0 ? 1 : lb->conf.reorder;
}

/* Section 5.1.6: num_buffers is there with VERSION_1 or MRG_RXBUF, the hash with HASH_REPORT. */
static uint32_t
hdr_bytes(const struct vireo_loopback *lb)
{
	if (has(lb, VIREO_NET_F_HASH_REPORT))
		return sizeof(struct net_hdr_hash);
	if (has(lb, VIREO_F_VERSION_1 | VIREO_NET_F_MRG_RXBUF))
		return sizeof(struct net_hdr);
	return offsetof(struct net_hdr, num_buffers);
}

/* --- Completion ------------------------------------------------------------- */

void
lb_use(struct lb_queue *q, uint16_t id, uint16_t nb_slots, uint32_t written)
{
	enum vireo_loopback_fault fault = q->fault;
	const uint32_t f = q->vq.flags;

	if (fault >= VIREO_LOOPBACK_FAULT_SILENT) {
		vq_dev_use(&q->vq, id, nb_slots, written, f);
		return;
	}
	q->fault = VIREO_LOOPBACK_FAULT_NONE;
	if (fault == VIREO_LOOPBACK_FAULT_ID)
		id = UINT16_MAX;
	if (fault == VIREO_LOOPBACK_FAULT_LEN)
		written = UINT32_MAX;
	vq_dev_use(&q->vq, id, nb_slots, written, f);
	if (fault == VIREO_LOOPBACK_FAULT_TWICE) {
		vq_dev_use(&q->vq, id, nb_slots, written, f);
		/* The count must not follow into the lie. */
		q->vq.nb_inflight += (f & VQ_F_PACKED) ? nb_slots : 1;
	}
	if (fault == VIREO_LOOPBACK_FAULT_IDX && (f & VQ_F_PACKED) == 0)
		q->vq.used_idx += 2 * q->vq.size;
}

void
lb_publish(struct lb_queue *q)
{
	const uint32_t f = q->vq.flags;
	const uint64_t one = 1;
	ssize_t ret;

	vq_dev_publish(&q->vq, f);
	if (!vq_call_needed(&q->vq, f) || q->call_fd < 0)
		return;
	q->vq.nb_calls++;
	/* A full counter (EAGAIN) has woken the driver already. */
	ret = write(q->call_fd, &one, sizeof(one));
	RTE_SET_USED(ret);
}

/* Complete the Tx buffers that were read, youngest first when reordering. */
static void
flush_done(struct vireo_loopback *lb, struct lb_queue *q)
{
	uint32_t slots = 0;
	uint16_t i;

	if (q->nb_done == 0)
		return;
	if (lb->conf.batch && has(lb, VIREO_F_IN_ORDER) && q->fault == VIREO_LOOPBACK_FAULT_NONE) {
		for (i = 0; i < q->nb_done; i++)
			slots += q->done[i].nb_slots;
		vq_dev_use_batch(&q->vq, q->done[q->nb_done - 1].id, q->nb_done, (uint16_t)slots, 0,
				 q->vq.flags);
	} else {
		for (i = 0; i < q->nb_done; i++) {
			const struct lb_done *d =
				&q->done[reorder(lb) > 1 ? q->nb_done - 1 - i : i];

			lb_use(q, d->id, d->nb_slots, 0);
		}
	}
	q->nb_done = 0;
	lb_publish(q);
}

static void
put_done(struct vireo_loopback *lb, struct lb_queue *q, const struct vq_chain *ch)
{
	uint16_t most = reorder(lb) > 1 ? reorder(lb) : 32;

	q->done[q->nb_done++] = (struct lb_done){ .id = ch->id, .nb_slots = ch->nb_slots };
	if (q->nb_done >= RTE_MIN(most, (uint16_t)LB_HELD_MAX))
		flush_done(lb, q);
}

/* --- Frames to the driver --------------------------------------------------- */

/* Take Rx buffers aside until they hold `need` bytes. @return 0, -EAGAIN, -EMSGSIZE, -EPROTO. */
static int
gather(struct vireo_loopback *lb, struct lb_queue *q, uint32_t need)
{
	const bool merge = has(lb, VIREO_NET_F_MRG_RXBUF);
	const uint16_t least = reorder(lb);
	struct vq_chain *ch = lb->rx_chain;
	struct lb_held *h;
	struct vq_take t;
	uint32_t sum = 0;
	uint16_t i;

	for (i = 0; i < q->nb_held; i++)
		sum += q->held[i].in_bytes;
	if (vq_dev_begin(&q->vq, &t, q->vq.flags) < 0)
		return -EPROTO;
	while (q->nb_held < least || (merge && sum < need)) {
		if (q->nb_held == LB_HELD_MAX)
			return -EMSGSIZE;
		ch->max = LB_HELD_IOV;
		if (vq_dev_next(&q->vq, &t, ch, q->vq.flags) <= 0)
			break;
		h = &q->held[q->nb_held++];
		h->id = ch->id;
		h->nb_slots = ch->nb_slots;
		h->nb_iov = ch->nb_in;
		h->in_bytes = ch->in_bytes;
		memcpy(h->iov, &ch->iov[ch->nb_out], ch->nb_in * sizeof(h->iov[0]));
		sum += h->in_bytes;
	}
	if (q->vq.broken)
		return -EPROTO;
	if (q->nb_held == 0 || (merge && sum < need))
		return -EAGAIN;
	if (!merge && q->held[reorder(lb) > 1 ? q->nb_held - 1 : 0].in_bytes < need)
		return -EMSGSIZE;
	return 0;
}

/* Copy into one buffer from its byte `at` on. @return bytes copied. */
static uint32_t
fill_held(const struct lb_held *h, uint32_t at, const uint8_t *from, uint32_t len_bytes)
{
	uint32_t done = 0;
	uint32_t n;
	uint16_t i;

	for (i = 0; i < h->nb_iov && done < len_bytes; i++) {
		if (at >= h->iov[i].len) {
			at -= h->iov[i].len;
			continue;
		}
		n = RTE_MIN(h->iov[i].len - at, len_bytes - done);
		memcpy((uint8_t *)h->iov[i].base + at, from + done, n);
		done += n;
		at = 0;
	}
	return done;
}

/* Which of those held is used next: the oldest, or the youngest when reordering. */
static struct lb_held
pop_held(struct vireo_loopback *lb, struct lb_queue *q)
{
	struct lb_held h;

	if (reorder(lb) > 1)
		return q->held[--q->nb_held];
	h = q->held[0];
	q->nb_held--;
	memmove(&q->held[0], &q->held[1], q->nb_held * sizeof(q->held[0]));
	return h;
}

/*
 * Section 5.1.6.4: header and frame into as many buffers as it takes. The header must name
 * their number, so they are counted first.
 */
static int
put_frame(struct vireo_loopback *lb, struct lb_queue *q, const struct lb_frame *fr)
{
	const uint32_t hlen = hdr_bytes(lb);
	struct net_hdr_hash hdr = { .hdr = fr->hdr };
	uint32_t left = hlen + fr->len_bytes;
	uint32_t done = 0, n, skip;
	struct lb_held h;
	uint16_t i;
	int ret;

	ret = gather(lb, q, left);
	if (ret < 0)
		return ret;
	hdr.hash_value = fr->hash;
	hdr.hash_report = fr->hash_report;
	hdr.hdr.num_buffers = 0;
	for (i = 0; left > 0; i++) {
		n = q->held[reorder(lb) > 1 ? q->nb_held - 1 - i : i].in_bytes;
		left -= RTE_MIN(left, n);
		hdr.hdr.num_buffers++;
	}
	for (i = hdr.hdr.num_buffers; i > 0; i--) {
		h = pop_held(lb, q);
		skip = i == hdr.hdr.num_buffers ? fill_held(&h, 0, (const uint8_t *)&hdr, hlen) : 0;
		n = fill_held(&h, skip, lb->frame + done, fr->len_bytes - done);
		done += n;
		lb_use(q, h.id, h.nb_slots, skip + n);
	}
	lb->state.nb_rx++;
	return 0;
}

static bool
in_table(const struct lb_mac_table *table, const uint8_t *mac)
{
	uint8_t i;

	for (i = 0; i < table->nb; i++)
		if (memcmp(table->mac[i], mac, ETH_ADDR_BYTES) == 0)
			return true;
	return table->overflow;
}

/* Sections 5.1.6.5.1 to 5.1.6.5.3: is the frame for this driver? */
static bool
passes_filters(const struct vireo_loopback *lb, const uint8_t *frame, uint32_t len_bytes)
{
	static const uint8_t broadcast[ETH_ADDR_BYTES] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };
	uint16_t vlan;

	if (len_bytes < ETH_TYPE_AT + 2)
		return true;
	if (has(lb, VIREO_NET_F_CTRL_VLAN) && len_bytes >= ETH_TYPE_AT + 4 &&
	    frame[ETH_TYPE_AT] == ETH_TYPE_VLAN_HI && frame[ETH_TYPE_AT + 1] == ETH_TYPE_VLAN_LO) {
		vlan = (uint16_t)((frame[ETH_TYPE_AT + 2] & 0xf) << 8 | frame[ETH_TYPE_AT + 3]);
		if ((lb->vlans[vlan / 8] & (1U << (vlan % 8))) == 0)
			return false;
	}
	if (!has(lb, VIREO_NET_F_CTRL_RX) || lb->state.promisc ||
	    memcmp(frame, broadcast, ETH_ADDR_BYTES) == 0)
		return true;
	if (frame[0] & 1)
		return lb->state.allmulti || in_table(&lb->multicast, frame);
	return memcmp(frame, lb->config.mac, ETH_ADDR_BYTES) == 0 || in_table(&lb->unicast, frame);
}

/* The checksum that a driver without GUEST_CSUM must find complete; section 5.1.6.2. */
static bool
complete_csum(struct vireo_loopback *lb, struct lb_frame *fr)
{
	uint32_t start = fr->hdr.csum_start, sum = 0, i;
	uint32_t at = start + fr->hdr.csum_offset;
	uint16_t csum;

	if (at + sizeof(csum) > fr->len_bytes)
		return false;
	for (i = start; i + 1 < fr->len_bytes; i += 2)
		sum += (uint32_t)(lb->frame[i] << 8 | lb->frame[i + 1]);
	if (i < fr->len_bytes)
		sum += (uint32_t)lb->frame[i] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	csum = (uint16_t)~sum;
	/* Zero means "none" in UDP; the other zero does everywhere. */
	if (csum == 0)
		csum = 0xffff;
	lb->frame[at] = (uint8_t)(csum >> 8);
	lb->frame[at + 1] = (uint8_t)csum;
	fr->hdr.flags = 0;
	fr->hdr.csum_start = 0;
	fr->hdr.csum_offset = 0;
	return true;
}

static uint64_t
feature_of_gso(uint8_t gso_type)
{
	switch (gso_type & ~VIREO_NET_HDR_GSO_ECN) {
	case VIREO_NET_HDR_GSO_TCPV4:
		return VIREO_NET_F_GUEST_TSO4;
	case VIREO_NET_HDR_GSO_TCPV6:
		return VIREO_NET_F_GUEST_TSO6;
	case VIREO_NET_HDR_GSO_UDP:
		return VIREO_NET_F_GUEST_UFO;
	default:
		return 0;
	}
}

/* Guest offloads that are on: the negotiated ones, unless the driver has chosen since. */
static bool
guest_takes(const struct vireo_loopback *lb, uint64_t feature)
{
	uint64_t on = lb->features;

	if (has(lb, VIREO_NET_F_CTRL_GUEST_OFFLOADS) && lb->state.guest_offloads != 0)
		on &= lb->state.guest_offloads;
	return (on & feature) == feature;
}

/* A frame as sent into what the receiving driver may see. @return false: cannot be. */
static bool
adapt(struct vireo_loopback *lb, struct lb_frame *fr)
{
	if (fr->hdr.gso_type != VIREO_NET_HDR_GSO_NONE &&
	    (feature_of_gso(fr->hdr.gso_type) == 0 ||
	     !guest_takes(lb, feature_of_gso(fr->hdr.gso_type))))
		return false;
	if ((fr->hdr.flags & VIREO_NET_HDR_F_NEEDS_CSUM) &&
	    !guest_takes(lb, VIREO_NET_F_GUEST_CSUM))
		return complete_csum(lb, fr);
	return true;
}

/* To the driver of lb. @return 0: delivered or dropped for good; -EAGAIN: no buffers now. */
static int
deliver(struct vireo_loopback *lb, uint16_t pair, struct lb_frame *fr)
{
	struct lb_queue *q;
	int ret;

	if (!passes_filters(lb, lb->frame, fr->len_bytes)) {
		lb->state.nb_filtered++;
		return 0;
	}
	fr->hash = lb_hash(lb, lb->frame, fr->len_bytes, &fr->hash_report);
	if (lb->rss.table_len != 0)
		pair = fr->hash_report == VIREO_NET_HASH_REPORT_NONE
			? lb->rss.unclassified
			: lb->rss.table[fr->hash & (lb->rss.table_len - 1U)];
	else if (pair >= lb->state.nb_pairs)
		pair %= lb->state.nb_pairs;
	q = lb_rxq(lb, pair);
	if (!lb_runs(lb, q) || !adapt(lb, fr)) {
		lb->state.nb_dropped++;
		return 0;
	}
	ret = put_frame(lb, q, fr);
	if (ret == -EAGAIN)
		return ret;
	if (ret < 0)
		lb->state.nb_dropped++;
	return 0;
}

/* --- Frames from the driver ------------------------------------------------- */

/* Copy lb->chain's readable bytes into header and lb->frame. @return false: no frame. */
static bool
read_frame(struct vireo_loopback *lb, struct lb_frame *fr)
{
	const struct vq_chain *ch = lb->chain;
	const uint32_t hlen = hdr_bytes(lb);
	uint8_t hdr[sizeof(struct net_hdr_hash)] = { 0 };
	uint32_t at = 0, off;
	uint16_t i;

	memset(fr, 0, sizeof(*fr));
	if (ch->out_bytes < hlen || ch->out_bytes - hlen > LB_FRAME_MAX)
		return false;
	for (i = 0; i < ch->nb_out; i++) {
		off = 0;
		if (at < hlen) {
			off = RTE_MIN(hlen - at, ch->iov[i].len);
			memcpy(hdr + at, ch->iov[i].base, off);
		}
		if (off < ch->iov[i].len)
			memcpy(lb->frame + (at + off - hlen),
			       (const uint8_t *)ch->iov[i].base + off, ch->iov[i].len - off);
		at += ch->iov[i].len;
	}
	memcpy(&fr->hdr, hdr, RTE_MIN(hlen, (uint32_t)sizeof(fr->hdr)));
	fr->len_bytes = ch->out_bytes - hlen;
	return true;
}

/* RSS spreads over all pairs. */
static void
publish_rx(struct vireo_loopback *lb)
{
	uint16_t i;

	for (i = 0; i < lb_nb_pairs(lb); i++)
		if (lb_runs(lb, lb_rxq(lb, i)))
			lb_publish(lb_rxq(lb, i));
}

/* Where frames of lb's driver go: back, or across. */
static int
forward(struct vireo_loopback *lb, uint16_t pair, struct lb_frame *fr)
{
	struct vireo_loopback *to = lb->crossed;
	int ret;

	if (to == NULL)
		return deliver(lb, pair, fr);
	if (pthread_mutex_trylock(&to->lock) != 0)
		return -EAGAIN;
	memcpy(to->frame, lb->frame, fr->len_bytes);
	ret = deliver(to, (uint16_t)(pair % lb_nb_pairs(to)), fr);
	publish_rx(to);
	pthread_mutex_unlock(&to->lock);
	return ret;
}

static uint32_t
serve_tx(struct vireo_loopback *lb, uint16_t pair, uint32_t budget)
{
	const bool reads = lb->conf.mode == VIREO_LOOPBACK_REFLECT;
	struct lb_queue *q = lb_txq(lb, pair);
	struct vq_chain *ch = lb->chain;
	struct lb_frame fr;
	struct vq_take t;
	uint32_t nb = 0;

	if (!lb_runs(lb, q) || vq_dev_begin(&q->vq, &t, q->vq.flags) < 0)
		return 0;
	for (; nb < budget; nb++) {
		ch->max = LB_TX_IOV;
		if (vq_dev_next(&q->vq, &t, ch, q->vq.flags) <= 0)
			break;
		if (reads && !read_frame(lb, &fr)) {
			lb->state.nb_dropped++;
		} else if (reads && forward(lb, pair, &fr) == -EAGAIN) {
			vq_dev_untake(&q->vq, &t, ch, q->vq.flags);
			break;
		}
		lb->state.nb_tx++;
		put_done(lb, q, ch);
	}
	flush_done(lb, q);
	return nb;
}

static uint32_t
serve_source(struct vireo_loopback *lb, uint16_t pair, uint32_t budget)
{
	struct lb_queue *q = lb_rxq(lb, pair);
	struct lb_frame fr = {
		.len_bytes = lb->conf.source_bytes != 0 ? lb->conf.source_bytes : SOURCE_BYTES,
	};
	uint32_t nb;

	if (!lb_runs(lb, q))
		return 0;
	memset(lb->frame, 0, fr.len_bytes);
	memset(lb->frame, 0xff, ETH_ADDR_BYTES);
	for (nb = 0; nb < budget; nb++)
		if (put_frame(lb, q, &fr) < 0)
			break;
	return nb;
}

static uint32_t
poll_locked(struct vireo_loopback *lb, uint16_t pair, uint32_t budget)
{
	uint32_t nb = 0;

	if (lb->conf.mode == VIREO_LOOPBACK_HOOK)
		return 0;
	nb += serve_tx(lb, pair, budget);
	if (lb->conf.mode == VIREO_LOOPBACK_SOURCE)
		nb += serve_source(lb, pair, budget);
	publish_rx(lb);
	return nb;
}

VIREO_EXPORT uint32_t
vireo_loopback_poll_pair(struct vireo_loopback *lb, uint16_t pair, uint32_t budget)
{
	uint32_t nb;

	if (pthread_mutex_trylock(&lb->lock) != 0)
		return 0;
	nb = pair < lb_nb_pairs(lb) ? poll_locked(lb, pair, budget) : 0;
	pthread_mutex_unlock(&lb->lock);
	return nb;
}

VIREO_EXPORT uint32_t
vireo_loopback_poll(struct vireo_loopback *lb, uint32_t budget)
{
	uint32_t nb = 0;
	uint16_t pair;

	for (pair = 0; pair < lb->conf.nb_pairs; pair++)
		nb += vireo_loopback_poll_pair(lb, pair, budget);
	return nb;
}

VIREO_EXPORT int
vireo_loopback_rx_inject(struct vireo_loopback *lb, uint16_t pair, const void *frame,
			 uint32_t len_bytes, const struct net_hdr *hdr)
{
	struct lb_frame fr = { .len_bytes = len_bytes };
	int ret = -ENOTCONN;

	if (len_bytes > LB_FRAME_MAX)
		return -EINVAL;
	if (hdr != NULL)
		fr.hdr = *hdr;
	pthread_mutex_lock(&lb->lock);
	if (pair < lb_nb_pairs(lb) && lb_runs(lb, lb_rxq(lb, pair))) {
		memcpy(lb->frame, frame, len_bytes);
		fr.hash = lb_hash(lb, lb->frame, len_bytes, &fr.hash_report);
		ret = put_frame(lb, lb_rxq(lb, pair), &fr);
		if (ret == 0)
			lb_publish(lb_rxq(lb, pair));
	}
	pthread_mutex_unlock(&lb->lock);
	return ret;
}

static int
take_locked(struct vireo_loopback *lb, struct lb_queue *q, void *frame, uint32_t size_bytes,
	    struct net_hdr *hdr)
{
	struct lb_frame fr;
	struct vq_take t;
	int ret;

	if (!lb_runs(lb, q))
		return q->set && q->vq.broken ? -EPROTO : -ENOTCONN;
	ret = vq_dev_begin(&q->vq, &t, q->vq.flags);
	if (ret <= 0)
		return ret;
	lb->chain->max = LB_TX_IOV;
	ret = vq_dev_next(&q->vq, &t, lb->chain, q->vq.flags);
	if (ret <= 0)
		return ret;
	ret = -EMSGSIZE;
	if (read_frame(lb, &fr) && fr.len_bytes <= size_bytes) {
		memcpy(frame, lb->frame, fr.len_bytes);
		if (hdr != NULL)
			*hdr = fr.hdr;
		ret = (int)fr.len_bytes;
	}
	lb->state.nb_tx++;
	lb_use(q, lb->chain->id, lb->chain->nb_slots, 0);
	lb_publish(q);
	return ret;
}

VIREO_EXPORT int
vireo_loopback_tx_take(struct vireo_loopback *lb, uint16_t pair, void *frame, uint32_t size_bytes,
		       struct net_hdr *hdr)
{
	int ret = -ENOTCONN;

	pthread_mutex_lock(&lb->lock);
	if (pair < lb_nb_pairs(lb))
		ret = take_locked(lb, lb_txq(lb, pair), frame, size_bytes, hdr);
	pthread_mutex_unlock(&lb->lock);
	return ret;
}
