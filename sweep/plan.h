/* A sweep as a file, in TOML, of whose values it has texts of one line, numbers as JSON has them,
 * true, false, and lists of these:
 *
 *     command = ["./dgemm", "{lib}", "{n}", "{bytes}"]
 *     kernel = "dgemm"           # any option of rfprof sweep, by its long name
 *     repeats = 7
 *
 *     [parameters]               # of the space
 *     lib = ["naive", "blocked"]
 *     n = "100:1000:100"
 *
 *     [constants]
 *     size = 8
 *
 *     [derived]                  # formulas (formula.h) of what stands before
 *     bytes = "size*n^2" */
#pragma once

#include "base/error.h"

#include <stddef.h>

struct sweep_plan_option {
	char *key, *value; /* as behind --KEY=; of a flag yes or no */
	unsigned line;
};

struct sweep_plan {
	const char **words; /* as of space_init: parameters, then the command; NULL at the end */
	size_t n_words, cap_words;
	struct sweep_plan_option *options; /* not yet known to be such; a list's one by one */
	size_t n_options, cap_options;
};

/* RF_EACCESS: the file cannot be read; RF_EINPUT, with file and line: it makes no sense, has a
 * section that there is not, or no command.  To be freed by sweep_plan_deinit, after an error, too.
 */
struct rf_error *sweep_plan_read(const char *path, struct sweep_plan *plan);
void sweep_plan_deinit(struct sweep_plan *plan);
