/* The commands of rfprof: the table cli/commands.def. */
#pragma once

#include "cli/options.h"

struct command {
	const char *id;   /* as `rfprof help` calls it, which is its word where it has one */
	const char *word; /* NULL: rfprof PROGRAM */
	const char *title, *arguments; /* "rfprof report", and what may stand behind */
	const char *summary;
};

/* By enum command_id; rfprof PROGRAM is the last. */
extern const struct command command_rows[N_COMMANDS];

/* The command of that word; COMMAND_run for any other, and for NULL. */
enum command_id command_find(const char *word);
