/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 *
 * A user's program: built with `pkg-config vireo` against an installed tree. It opens the
 * port that the EAL arguments name; 0 when there is exactly one and net_vireo drives it.
 */
#include <stdio.h>
#include <string.h>

#include <rte_eal.h>
#include <rte_ethdev.h>

int
main(int argc, char **argv)
{
	struct rte_eth_dev_info info;

	if (rte_eal_init(argc, argv) < 0) {
		fprintf(stderr, "EAL does not start\n");
		return 1;
	}
	if (rte_eth_dev_count_avail() != 1 || rte_eth_dev_info_get(0, &info) != 0) {
		fprintf(stderr, "%u ports, wanted 1\n", rte_eth_dev_count_avail());
		return 1;
	}
	printf("port 0: %s\n", info.driver_name);
	if (strcmp(info.driver_name, "net_vireo") != 0)
		return 1;
	return rte_eth_dev_close(0) == 0 && rte_eal_cleanup() == 0 ? 0 : 1;
}
