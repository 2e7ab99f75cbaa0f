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
	struct poptOption own[N_OPTIONS + 3], shared[N_OPTIONS + 1];
	poptContext context;
};

/* Reads argv[0 … argc-1] for a command; argv[0] is what --help calls it, `arguments` what it says
 * behind.  RF_EINPUT: an option that is not known, or that has not what it takes.  --help and
 * --usage end the process.  To be freed by command_line_deinit, after an error, too. */
struct rf_error *command_line_read(struct command_line *line, enum command_id command,
				   const char *arguments, int argc, const char **argv);
void command_line_deinit(struct command_line *line);

/* RF_EINPUT that says what is wrong with a word of the command line, and points to --help. */
struct rf_error *usage_error(const char *what, const char *word);
