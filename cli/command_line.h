/* Reads the command line of a command by the table of options. */
#pragma once

#include "base/error.h"
#include "cli/config.h"
#include "cli/options.h"

#include <popt.h>

/* Of the longest name of an option, with "no-" before it. */
enum { OPTION_NAME_SIZE = 32 };

struct command_line {
	struct options options;
	const char **words; /* what follows the options, NULL at the end; never NULL */
	bool given[N_OPTIONS];
	/* memory of the above */
	char *texts[N_OPTIONS]; /* of words, before they are looked up */
	char opposites[N_OPTIONS][OPTION_NAME_SIZE];
	struct poptOption table[2 * N_OPTIONS + 1];
	poptContext context;
};

/* Reads argv[1 … argc-1] for a command.  RF_EINPUT: an option that is not known, or that has not
 * what it takes; the hint says what may have been meant.  To be freed by command_line_deinit, after
 * an error, too. */
struct rf_error *command_line_read(struct command_line *line, enum command_id command, int argc,
				   const char **argv);
/* Adds what the configuration says of options that were not given, nor any that excludes them.
 * RF_EINPUT: one has not what it takes; the message has its file and line. */
struct rf_error *command_line_add(struct command_line *line, enum command_id command,
				  const struct config *config);
void command_line_deinit(struct command_line *line);

/* RF_EINPUT that says what is wrong with a word of the command line, and points to --help. */
struct rf_error *usage_error(const char *what, const char *word);
