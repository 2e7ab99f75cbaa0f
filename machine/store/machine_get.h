/* "The roofs of this machine": the one question that the rest of rfprof asks of machine/. */
#pragma once

#include "machine/data/machine.h"

struct kept_store; /* base/kept_store.h */

struct machine_options {
	bool refresh;       /* measure although a valid cache file is there */
	bool quick;         /* the rows that reports use are enough */
	const int *threads; /* thread counts that must be there, ascending, at most
			     * usable_threads; NULL: 1, 2, 4, … and all.  The cache keeps rows at
			     * other counts. */
	size_t n_threads;
	/* Called with a short text while measuring; NULL: silent. */
	void (*progress)(void *context, const char *what, int step, int n_steps);
	void *progress_context;
	struct kept_store *kept; /* where what was read of the file is kept, too; or NULL */
};

/* Reads the roofs of this machine from $XDG_CACHE_HOME/rfprof (or ~/.cache/rfprof), or measures
 * and saves them.  A cache that cannot be written is not an error; *warning (may be NULL) then
 * gets an error object that the caller prints and destroys. */
struct rf_error *machine_get(const struct machine_options *options, struct machine *machine,
			     struct rf_error **warning);
/* The same without measuring, and without a word.  False: not all that is asked for is kept. */
bool machine_kept(const struct machine_options *options, struct machine *machine);
