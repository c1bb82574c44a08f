/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Vireo Authors
 */
#include <errno.h>
#include <stdlib.h>

#include <cmdline.h>
#include <cmdline_parse.h>
#include <cmdline_parse_string.h>
#include <cmdline_rdline.h>
#include <cmdline_socket.h>

#include "commands.h"
#include "test.h"

static int last_result;

struct test_result {
	cmdline_fixed_string_t name;
};

static void
run_parsed(void *parsed, __rte_unused struct cmdline *cl, __rte_unused void *data)
{
	const struct test_result *res = parsed;

	last_result = test_command_run(test_command_find(res->name));
}

/* The names are filled in at run time: cmdline wants them as "a#b#c". */
static cmdline_parse_token_string_t token_test =
	TOKEN_STRING_INITIALIZER(struct test_result, name, NULL);

static cmdline_parse_inst_t cmd_test = {
	.f = run_parsed,
	.help_str = "<name>_autotest: run one test",
	.tokens = { (void *)&token_test, NULL },
};

struct list_result {
	cmdline_fixed_string_t list;
	cmdline_fixed_string_t suite;
};

static void
list_parsed(void *parsed, __rte_unused struct cmdline *cl, void *data)
{
	const struct list_result *res = parsed;

	test_command_list(data != NULL ? res->suite : NULL);
}

static cmdline_parse_token_string_t token_list =
	TOKEN_STRING_INITIALIZER(struct list_result, list, "list");
static cmdline_parse_token_string_t token_suite =
	TOKEN_STRING_INITIALIZER(struct list_result, suite, "fast#driver#stress#perf");

static cmdline_parse_inst_t cmd_list = {
	.f = list_parsed,
	.help_str = "list: names of all tests",
	.tokens = { (void *)&token_list, NULL },
};

static cmdline_parse_inst_t cmd_list_suite = {
	.f = list_parsed,
	.data = &token_suite,
	.help_str = "list fast|driver|stress|perf: names of a suite's tests",
	.tokens = { (void *)&token_list, (void *)&token_suite, NULL },
};

struct word_result {
	cmdline_fixed_string_t word;
};

static cmdline_parse_ctx_t contexts[];

static void
help_parsed(__rte_unused void *parsed, struct cmdline *cl, __rte_unused void *data)
{
	const cmdline_parse_inst_t *inst;
	unsigned int i;

	for (i = 0; (inst = contexts[i]) != NULL; i++)
		cmdline_printf(cl, "%s\n", inst->help_str);
}

static cmdline_parse_token_string_t token_help =
	TOKEN_STRING_INITIALIZER(struct word_result, word, "help");

static cmdline_parse_inst_t cmd_help = {
	.f = help_parsed,
	.help_str = "help: this list",
	.tokens = { (void *)&token_help, NULL },
};

static void
quit_parsed(__rte_unused void *parsed, struct cmdline *cl, __rte_unused void *data)
{
	cmdline_quit(cl);
}

static cmdline_parse_token_string_t token_quit =
	TOKEN_STRING_INITIALIZER(struct word_result, word, "quit");

static cmdline_parse_inst_t cmd_quit = {
	.f = quit_parsed,
	.help_str = "quit: leave",
	.tokens = { (void *)&token_quit, NULL },
};

static cmdline_parse_ctx_t contexts[] = {
	(cmdline_parse_inst_t *)&cmd_test,	 (cmdline_parse_inst_t *)&cmd_list,
	(cmdline_parse_inst_t *)&cmd_list_suite, (cmdline_parse_inst_t *)&cmd_help,
	(cmdline_parse_inst_t *)&cmd_quit,	 NULL,
};

static char *
join_names(void)
{
	const struct test_command *cmd;
	size_t len = 1;
	char *names, *at;

	for (cmd = test_command_first(); cmd != NULL; cmd = cmd->next)
		len += strlen(cmd->name) + 1;
	names = calloc(1, len);
	if (names == NULL)
		return NULL;
	at = names;
	for (cmd = test_command_first(); cmd != NULL; cmd = cmd->next)
		at += sprintf(at, "%s%s", at == names ? "" : "#", cmd->name);
	return names;
}

int
commands_interact(void)
{
	char *names = join_names();
	struct cmdline *cl;

	if (names == NULL)
		return -ENOMEM;
	token_test.string_data.str = names;
	cl = cmdline_stdin_new(contexts, "RTE>>");
	if (cl == NULL) {
		free(names);
		return -EIO;
	}
	cmdline_interact(cl);
	cmdline_stdin_exit(cl);
	free(names);
	return last_result;
}
