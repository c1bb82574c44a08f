/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */

#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_pause.h>

#include "floor.h"
#include "perf.h"

#define LINE 64
#define XCORE_WINDOW_BYTES (256 * 1024)
#define HOT_BYTES (16 * 1024)
#define DRAM_BYTES (32 * 1024 * 1024)
#define COPY_CHUNK_BYTES (64 * 1024)
#define NB_ROUNDS_MAX 15

/* Value of `ball` that ends the other side; iterations never get there. */
#define BALL_STOP UINT32_MAX

/* 64 B message of the kernel's round trips, as `rr` uses. */
#define RTT_BYTES 64

const uint32_t perf_floor_sizes[FLOOR_NB_SIZES] = { 64, 1024, 4096, 16384, 65536 };

/* A part of the measurement: two threads, one on each CPU. */
struct pair {
	int cpu_a;
	int cpu_b;
	uint32_t nb_iters;
	uint64_t until_tsc; /* iterations end early then: somebody else may use the CPUs */
	uint32_t size_bytes;
	int fd_a;
	int fd_b;
	uint8_t *window; /* xcore: dirtied by A, read by B */
	uint8_t *local; /* xcore: B's own */
	double result;
	/* Each on a line of its own. */
	volatile uint32_t ball __attribute__((aligned(LINE)));
	volatile uint32_t answer __attribute__((aligned(LINE)));
	uint8_t pad[LINE];
};

static double
seconds_of(uint64_t tsc)
{
	return (double)tsc / (double)rte_get_tsc_hz();
}

static double
gbps(double bytes, double seconds)
{
	return seconds > 0 ? bytes * 8 / seconds / 1e9 : NAN;
}

/* Run `b` on CPU B while `a` runs in this thread on CPU A. */
static int
run_pair(struct pair *pair, void (*a)(struct pair *), void *(*b)(void *))
{
	pthread_t thread;
	int rc;

	rc = -pthread_create(&thread, NULL, b, pair);
	if (rc < 0)
		return rc;
	perf_pin(pair->cpu_a);
	a(pair);
	pthread_join(thread, NULL);
	return 0;
}

/* --- cache line ---------------------------------------------------------------- */

static void *
cacheline_b(void *arg)
{
	struct pair *pair = arg;
	uint32_t i, ball;

	perf_pin(pair->cpu_b);
	for (i = 1; i <= pair->nb_iters; i++) {
		do {
			ball = pair->ball;
		} while (ball != 2 * i - 1 && ball != BALL_STOP);
		if (ball == BALL_STOP)
			break;
		pair->ball = 2 * i;
	}
	return NULL;
}

static void
cacheline_a(struct pair *pair)
{
	const uint32_t warm = pair->nb_iters / 10;
	uint64_t start = rte_rdtsc();
	uint32_t i;

	for (i = 1; i <= pair->nb_iters && (i % 256 != 0 || rte_rdtsc() < pair->until_tsc); i++) {
		if (i == warm + 1)
			start = rte_rdtsc();
		pair->ball = 2 * i - 1;
		while (pair->ball != 2 * i)
			;
	}
	pair->result = NAN;
	if (i > warm + 2)
		pair->result = seconds_of(rte_rdtsc() - start) * 1e9 / (i - 1 - warm);
	pair->ball = BALL_STOP;
}

/* --- memory copies --------------------------------------------------------------- */

/* Out of all caches: what is copied next comes from memory. */
static void
evict(const uint8_t *at, size_t bytes)
{
#ifdef __x86_64__
	size_t i;

	for (i = 0; i < bytes; i += LINE)
		__builtin_ia32_clflush(at + i);
	__builtin_ia32_mfence();
#else
	/* Walking through more memory than any cache holds pushes it out. */
	static uint8_t *other;
	const size_t other_bytes = 512UL * 1024 * 1024;

	(void)at;
	(void)bytes;
	if (other == NULL)
		other = malloc(other_bytes);
	if (other != NULL)
		memset(other, 1, other_bytes);
#endif
}

/* The compiler must not drop a copy whose target nobody reads. */
static void
keep(const void *at)
{
	__asm__ volatile("" : : "r"(at) : "memory");
}

static double
memcpy_hot(uint8_t *from, uint8_t *to, uint32_t nb_iters)
{
	uint64_t start;
	uint32_t i;

	memcpy(to, from, HOT_BYTES);
	start = rte_rdtsc();
	for (i = 0; i < nb_iters; i++) {
		memcpy(to, from, HOT_BYTES);
		keep(to);
	}
	return gbps((double)HOT_BYTES * nb_iters, seconds_of(rte_rdtsc() - start));
}

static double
memcpy_dram(uint8_t *from, uint8_t *to)
{
	uint64_t start;
	size_t at;

	evict(from, DRAM_BYTES);
	evict(to, DRAM_BYTES);
	start = rte_rdtsc();
	/* In pieces of the largest packets: one huge copy bypasses the caches in libc. */
	for (at = 0; at < DRAM_BYTES; at += COPY_CHUNK_BYTES) {
		memcpy(to + at, from + at, COPY_CHUNK_BYTES);
		keep(to);
	}
	return gbps(DRAM_BYTES, seconds_of(rte_rdtsc() - start));
}

static void *
xcore_b(void *arg)
{
	struct pair *pair = arg;
	uint64_t start, sum = 0;
	uint32_t i, ball, warm = pair->nb_iters / 10;

	perf_pin(pair->cpu_b);
	for (i = 1; i <= pair->nb_iters; i++) {
		/* Pairs with A's release: the window is whole. */
		while ((ball = __atomic_load_n(&pair->ball, __ATOMIC_ACQUIRE)) != i &&
		       ball != BALL_STOP)
			rte_pause();
		if (ball == BALL_STOP)
			break;
		start = rte_rdtsc();
		memcpy(pair->local, pair->window, XCORE_WINDOW_BYTES);
		keep(pair->local);
		if (i > warm)
			sum += rte_rdtsc() - start;
		__atomic_store_n(&pair->answer, i, __ATOMIC_RELEASE);
	}
	pair->result = NAN;
	if (i > warm + 1)
		pair->result = gbps((double)XCORE_WINDOW_BYTES * (i - 1 - warm), seconds_of(sum));
	return NULL;
}

static void
xcore_a(struct pair *pair)
{
	uint32_t i, at;

	for (i = 1; i <= pair->nb_iters && rte_rdtsc() < pair->until_tsc; i++) {
		for (at = 0; at < XCORE_WINDOW_BYTES; at += LINE)
			*(volatile uint32_t *)(pair->window + at) = i;
		__atomic_store_n(&pair->ball, i, __ATOMIC_RELEASE);
		/* Pairs with B's release: it has read everything. */
		while (__atomic_load_n(&pair->answer, __ATOMIC_ACQUIRE) != i)
			rte_pause();
	}
	__atomic_store_n(&pair->ball, BALL_STOP, __ATOMIC_RELEASE);
}

/* --- the kernel's transports -------------------------------------------------------- */

static bool
read_whole(int fd, void *buf, size_t bytes)
{
	uint8_t *at = buf;
	ssize_t got;

	while (bytes > 0) {
		got = read(fd, at, bytes);
		if (got <= 0)
			return false;
		at += got;
		bytes -= (size_t)got;
	}
	return true;
}

static bool
write_whole(int fd, const void *buf, size_t bytes)
{
	const uint8_t *at = buf;
	ssize_t done;

	while (bytes > 0) {
		done = write(fd, at, bytes);
		if (done <= 0)
			return false;
		at += done;
		bytes -= (size_t)done;
	}
	return true;
}

static void *
socket_rtt_b(void *arg)
{
	struct pair *pair = arg;
	uint8_t msg[RTT_BYTES];
	uint32_t i;

	perf_pin(pair->cpu_b);
	for (i = 0; i < pair->nb_iters; i++)
		if (!read_whole(pair->fd_b, msg, sizeof(msg)) ||
		    !write_whole(pair->fd_b, msg, sizeof(msg)))
			break;
	shutdown(pair->fd_b, SHUT_RDWR);
	return NULL;
}

static void
socket_rtt_a(struct pair *pair)
{
	double *samples = calloc(pair->nb_iters, sizeof(*samples));
	uint8_t msg[RTT_BYTES] = { 0 };
	uint64_t start;
	uint32_t i;

	pair->result = NAN;
	for (i = 0; samples != NULL && i < pair->nb_iters && rte_rdtsc() < pair->until_tsc; i++) {
		start = rte_rdtsc();
		if (!write_whole(pair->fd_a, msg, sizeof(msg)) ||
		    !read_whole(pair->fd_a, msg, sizeof(msg)))
			break;
		samples[i] = seconds_of(rte_rdtsc() - start) * 1e9;
	}
	if (i > 0)
		pair->result = perf_median(samples, i);
	shutdown(pair->fd_a, SHUT_RDWR);
	free(samples);
}

/* Reader and writer touch every line of the payload, as an application would. */
static void *
socket_stream_b(void *arg)
{
	struct pair *pair = arg;
	uint8_t *buf = malloc(pair->size_bytes);
	uint64_t start = rte_rdtsc(), bytes = 0;
	uint32_t sum = 0;
	ssize_t got, at;

	perf_pin(pair->cpu_b);
	while (buf != NULL) {
		got = read(pair->fd_b, buf, pair->size_bytes);
		if (got <= 0)
			break;
		for (at = 0; at < got; at += LINE)
			sum += *(volatile uint8_t *)(buf + at);
		bytes += (uint64_t)got;
	}
	keep(&sum);
	pair->result = gbps((double)bytes, seconds_of(rte_rdtsc() - start));
	free(buf);
	return NULL;
}

static void
socket_stream_a(struct pair *pair)
{
	uint8_t *buf = calloc(1, pair->size_bytes);
	uint32_t at, turn = 0;

	while (buf != NULL && rte_rdtsc() < pair->until_tsc) {
		turn++;
		for (at = 0; at < pair->size_bytes; at += LINE)
			*(volatile uint8_t *)(buf + at) = (uint8_t)turn;
		if (!write_whole(pair->fd_a, buf, pair->size_bytes))
			break;
	}
	shutdown(pair->fd_a, SHUT_RDWR);
	free(buf);
}

static int
tcp_pair(int fds[2])
{
	struct sockaddr_in addr = { .sin_family = AF_INET,
				    .sin_addr = { .s_addr = htonl(INADDR_LOOPBACK) } };
	socklen_t len = sizeof(addr);
	int one = 1, i, listener;

	fds[0] = -1;
	fds[1] = -1;
	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (listener < 0)
		return -errno;
	if (bind(listener, (struct sockaddr *)&addr, sizeof(addr)) == 0 &&
	    listen(listener, 1) == 0 &&
	    getsockname(listener, (struct sockaddr *)&addr, &len) == 0) {
		fds[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (fds[0] >= 0 && connect(fds[0], (struct sockaddr *)&addr, sizeof(addr)) == 0)
			fds[1] = accept(listener, NULL, NULL);
	}
	close(listener);
	if (fds[1] < 0) {
		if (fds[0] >= 0)
			close(fds[0]);
		return -EIO;
	}
	for (i = 0; i < 2; i++)
		setsockopt(fds[i], IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return 0;
}

static double
run_sockets(struct pair *pair, int fds[2], void (*a)(struct pair *), void *(*b)(void *))
{
	int rc;

	pair->fd_a = fds[0];
	pair->fd_b = fds[1];
	rc = run_pair(pair, a, b);
	close(fds[0]);
	close(fds[1]);
	return rc == 0 ? pair->result : NAN;
}

static double
measure_unix(struct pair *pair, void (*a)(struct pair *), void *(*b)(void *))
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
		return NAN;
	return run_sockets(pair, fds, a, b);
}

static double
measure_tcp(struct pair *pair)
{
	int fds[2];

	if (tcp_pair(fds) < 0)
		return NAN;
	return run_sockets(pair, fds, socket_rtt_a, socket_rtt_b);
}

/* --- all of it -------------------------------------------------------------------- */

/* Buffers in huge pages of the kernel's own where it grants them. */
struct buffers {
	uint8_t *from;
	uint8_t *to;
};

static void *
map_buffer(size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		return NULL;
	madvise(at, bytes, MADV_HUGEPAGE);
	memset(at, 1, bytes);
	return at;
}

struct rounds {
	uint32_t nb;
	double values[6 + FLOOR_NB_SIZES][NB_ROUNDS_MAX];
};

/* What comes next runs for so many iterations, or so long. */
static struct pair *
bound(struct pair *pair, uint32_t nb_iters, uint32_t ms)
{
	pair->ball = 0;
	pair->answer = 0;
	pair->nb_iters = nb_iters;
	pair->until_tsc = rte_rdtsc() + rte_get_tsc_hz() / 1000 * ms;
	return pair;
}

static double
measure_pair(struct pair *pair, void (*a)(struct pair *), void *(*b)(void *))
{
	return run_pair(pair, a, b) == 0 ? pair->result : NAN;
}

static void
measure_round(struct pair *pair, const struct buffers *buf, struct rounds *rounds, bool quick)
{
	const uint32_t at = rounds->nb++, n = quick ? 1 : 4, ms = 100 * n;
	uint32_t i;

	pair->window = buf->from;
	pair->local = buf->to;
	rounds->values[0][at] = measure_pair(bound(pair, 20000 * n, ms), cacheline_a, cacheline_b);
	rounds->values[1][at] = memcpy_hot(buf->from, buf->to, 20000 * n);
	rounds->values[2][at] = memcpy_dram(buf->from, buf->to);
	rounds->values[3][at] = measure_pair(bound(pair, 200 * n, ms), xcore_a, xcore_b);
	rounds->values[4][at] = measure_unix(bound(pair, 2000 * n, ms), socket_rtt_a, socket_rtt_b);
	rounds->values[5][at] = measure_tcp(bound(pair, 2000 * n, ms));
	for (i = 0; i < FLOOR_NB_SIZES; i++) {
		pair->size_bytes = perf_floor_sizes[i];
		rounds->values[6 + i][at] =
			measure_unix(bound(pair, 0, 25 * n), socket_stream_a, socket_stream_b);
	}
}

static void
set_medians(struct floor_result *floor, struct rounds *rounds)
{
	uint32_t i;

	floor->cacheline_rtt_ns = perf_median(rounds->values[0], rounds->nb);
	floor->memcpy_hot_gbps = perf_median(rounds->values[1], rounds->nb);
	floor->memcpy_dram_gbps = perf_median(rounds->values[2], rounds->nb);
	floor->memcpy_xcore_gbps = perf_median(rounds->values[3], rounds->nb);
	floor->unix_rtt_ns = perf_median(rounds->values[4], rounds->nb);
	floor->tcp_rtt_ns = perf_median(rounds->values[5], rounds->nb);
	for (i = 0; i < FLOOR_NB_SIZES; i++)
		floor->unix_stream_gbps[i] = perf_median(rounds->values[6 + i], rounds->nb);
}

int
perf_floor_measure(struct floor_result *floor, bool quick)
{
	static struct rounds rounds;
	static struct pair pair;
	struct buffers buf;
	uint32_t i;
	int rc;

	rc = perf_cpus(&pair.cpu_a, &pair.cpu_b);
	if (rc < 0) {
		fprintf(stderr, "vireo-perf: the floor needs two CPUs, this process may use one\n");
		return rc;
	}
	buf.from = map_buffer(DRAM_BYTES);
	buf.to = map_buffer(DRAM_BYTES);
	rc = buf.from != NULL && buf.to != NULL ? 0 : -ENOMEM;
	rounds.nb = 0;
	for (i = 0; rc == 0 && i < (quick ? 5 : NB_ROUNDS_MAX) && !perf_quit; i++)
		measure_round(&pair, &buf, &rounds, quick);
	if (rc == 0)
		set_medians(floor, &rounds);
	if (buf.from != NULL)
		munmap(buf.from, DRAM_BYTES);
	if (buf.to != NULL)
		munmap(buf.to, DRAM_BYTES);
	return rc;
}

double
perf_floor_cacheline_rtt_ns(void)
{
	static struct pair pair;

	if (perf_cpus(&pair.cpu_a, &pair.cpu_b) < 0)
		return NAN;
	return measure_pair(bound(&pair, 20000, 100), cacheline_a, cacheline_b);
}

void
perf_floor_json(struct perf_json *json, const struct floor_result *floor)
{
	char key[16];
	uint32_t i;

	perf_json_object(json, "floor");
	perf_json_double(json, "cacheline_rtt_ns", floor->cacheline_rtt_ns);
	perf_json_double(json, "memcpy_dram_gbps", floor->memcpy_dram_gbps);
	perf_json_double(json, "memcpy_hot_gbps", floor->memcpy_hot_gbps);
	perf_json_double(json, "memcpy_xcore_gbps", floor->memcpy_xcore_gbps);
	perf_json_double(json, "unix_rtt_ns", floor->unix_rtt_ns);
	perf_json_double(json, "tcp_rtt_ns", floor->tcp_rtt_ns);
	perf_json_object(json, "unix_stream_gbps");
	for (i = 0; i < FLOOR_NB_SIZES; i++) {
		snprintf(key, sizeof(key), "%u", perf_floor_sizes[i]);
		perf_json_double(json, key, floor->unix_stream_gbps[i]);
	}
	perf_json_object_end(json);
	perf_json_object_end(json);
}

/* --- the subcommand ------------------------------------------------------------------ */

static struct perf_common common;

static const struct perf_opt opts[] = {
	PERF_COMMON_OPTS(&common),
	{ NULL },
};

static void
print_floor(const struct floor_result *floor)
{
	uint32_t i;

	printf("%-28s %10.1f ns\n", "cache-line round trip", floor->cacheline_rtt_ns);
	printf("%-28s %10.1f Gb/s\n", "memcpy, hot", floor->memcpy_hot_gbps);
	printf("%-28s %10.1f Gb/s\n", "memcpy, from DRAM", floor->memcpy_dram_gbps);
	printf("%-28s %10.1f Gb/s\n", "memcpy, across cores", floor->memcpy_xcore_gbps);
	printf("%-28s %10.1f ns\n", "AF_UNIX round trip, 64 B", floor->unix_rtt_ns);
	printf("%-28s %10.1f ns\n", "TCP round trip, 64 B", floor->tcp_rtt_ns);
	for (i = 0; i < FLOOR_NB_SIZES; i++)
		printf("AF_UNIX stream, %5u B%*s %10.2f Gb/s\n", perf_floor_sizes[i], 6, "",
		       floor->unix_stream_gbps[i]);
}

static int
run(void)
{
	struct floor_result floor;
	struct perf_json json;
	int rc;

	rc = perf_json_open(&json, common.json_path);
	if (rc < 0)
		return rc;
	perf_env_print();
	rc = perf_floor_measure(&floor, common.quick);
	if (rc < 0) {
		perf_json_discard(&json);
		return rc;
	}
	print_floor(&floor);
	perf_json_env(&json);
	perf_floor_json(&json, &floor);
	return perf_json_close(&json);
}

const struct perf_command perf_floor = {
	.name = "floor",
	.summary = "limits of this machine between two cores, and the kernel's sockets beside them",
	.opts = opts,
	.run = run,
};
