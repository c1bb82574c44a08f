/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */

/*
 * The vhost-user codec in front of a peer that sends anything: messages cut anywhere, any
 * number of descriptors with any byte. No descriptor may stay open, no read may go beyond
 * the message (AddressSanitizer), and what is accepted has the size that it claims.
 */

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fuzz.h"
#include "transport/vhost_user_msg.h"

#define FDS_MAX 70
/* No wait is ever needed: all bytes are there before the codec runs. */
#define TIMEOUT_MS 0

/* Send n bytes with nb_fds descriptors. */
static void
send_piece(int sock, const uint8_t *bytes, size_t n, unsigned int nb_fds)
{
	union {
		struct cmsghdr hdr;
		uint8_t room[CMSG_SPACE(sizeof(int) * FDS_MAX)];
	} control;
	struct iovec iov = { .iov_base = (void *)(uintptr_t)bytes, .iov_len = n };
	struct msghdr mh = { .msg_iov = &iov, .msg_iovlen = 1 };
	int fds[FDS_MAX];
	unsigned int i;

	if (nb_fds != 0) {
		for (i = 0; i < nb_fds; i++)
			fds[i] = sock;
		memset(&control, 0, sizeof(control));
		control.hdr.cmsg_level = SOL_SOCKET;
		control.hdr.cmsg_type = SCM_RIGHTS;
		control.hdr.cmsg_len = CMSG_LEN(sizeof(int) * nb_fds);
		memcpy(CMSG_DATA(&control.hdr), fds, sizeof(int) * nb_fds);
		mh.msg_control = &control;
		mh.msg_controllen = CMSG_SPACE(sizeof(int) * nb_fds);
	}
	/* A full socket drops the rest of the script, which is as good as any other end. */
	(void)!sendmsg(sock, &mh, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void
send_script(int sock, struct fuzz_input *in)
{
	while (in->left != 0) {
		uint8_t nb_fds = fuzz_u8(in), n = fuzz_u8(in);
		size_t len = n < in->left ? n : in->left;

		if (len == 0)
			break;
		/* Mostly none or few. */
		send_piece(sock, in->at, len, nb_fds < 128 ? 0 : nb_fds % FDS_MAX);
		in->at += len;
		in->left -= len;
	}
	shutdown(sock, SHUT_WR);
}

static void
check_accepted(const struct vhost_user_msg *msg)
{
	FUZZ_ASSERT(msg->hdr.size_bytes <= sizeof(msg->payload));
	FUZZ_ASSERT(msg->nb_fds <= VHOST_USER_MEM_REGIONS_MAX);
	FUZZ_ASSERT((msg->hdr.flags & VHOST_USER_FLAG_VERSION_MASK) == VHOST_USER_FLAG_VERSION);
	FUZZ_ASSERT(vhost_user_request_str(msg->hdr.request) != NULL);
}

static void
receive_all(int sock, uint8_t mode)
{
	struct vhost_user_msg *msg = calloc(1, sizeof(*msg));
	int rc;

	if (msg == NULL)
		abort();
	if (mode & 1) {
		/* A call: the script is the reply. */
		msg->hdr.request = mode >> 2;
		msg->hdr.flags = VHOST_USER_FLAG_VERSION;
		msg->hdr.size_bytes = 8;
		rc = vhost_user_msg_call(sock, msg, (mode & 2) ? 8 : UINT32_MAX, mode >> 7,
					 TIMEOUT_MS);
		if (rc == 0) {
			check_accepted(msg);
			FUZZ_ASSERT(msg->hdr.request == (uint32_t)(mode >> 2));
			FUZZ_ASSERT(msg->nb_fds == (uint32_t)(mode >> 7));
			vhost_user_msg_close_fds(msg);
		}
	}
	while ((rc = vhost_user_msg_recv(sock, msg, TIMEOUT_MS)) == 0) {
		check_accepted(msg);
		vhost_user_msg_close_fds(msg);
	}
	FUZZ_ASSERT(rc == -ECONNRESET || rc == -EPROTO || rc == -ETIMEDOUT);
	free(msg);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size < 8192 ? size : 8192 };
	uint8_t mode = fuzz_u8(&in);
	int sv[2], lowest, again;

	lowest = dup(0);
	if (lowest < 0 || close(lowest) != 0)
		abort();
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, sv) != 0)
		abort();
	send_script(sv[0], &in);
	receive_all(sv[1], mode);
	close(sv[0]);
	close(sv[1]);
	/* The lowest free descriptor is the same as before: none was left open. */
	again = dup(0);
	FUZZ_ASSERT(again == lowest);
	close(again);
	return 0;
}
