/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#ifndef VIREO_TEST_COMMANDS_H
#define VIREO_TEST_COMMANDS_H

/**
 * Read commands from stdin at an RTE>> prompt until "quit" or the end of input: the
 * registered tests (completed by tab), "list [suite]", "help" and "quit".
 *
 * @return result of the last test, 0 when none was run; -errno when no prompt could be had.
 */
int commands_interact(void);

#endif /* VIREO_TEST_COMMANDS_H */
