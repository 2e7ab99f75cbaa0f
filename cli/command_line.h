/* Reads the command line of a command by the table of options. */
#pragma once

#include "base/error.h"
#include "cli/options.h"

#include <popt.h>

struct command_line {
	struct options options;
	const char **words; /* what follows the options, NULL at the end; never NULL */
	/* memory of the above */
	char *texts[N_OPTIONS]; /* of words, before they are looked up */
	struct poptOption table[N_OPTIONS + 1];
	poptContext context;
};

/* Reads argv[1 … argc-1] for a command.  RF_EINPUT: an option that is not known, or that has not
 * what it takes; the hint says what may have been meant.  To be freed by command_line_deinit, after
 * an error, too. */
struct rf_error *command_line_read(struct command_line *line, enum command_id command, int argc,
				   const char **argv);
void command_line_deinit(struct command_line *line);

/* RF_EINPUT that says what is wrong with a word of the command line, and points to --help. */
struct rf_error *usage_error(const char *what, const char *word);
