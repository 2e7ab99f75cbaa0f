/* Threads of ranks that are merged: all are one, but for those that ran natively, by why they did.
 */
#pragma once

#include "report/merge/rows.h"

#include <stdbool.h>

struct rank_threads {
	char **reasons; /* "": none; each has a process and a thread in both runs */
	size_t n_reasons, cap_reasons;
};

/* Sets merger->row_of[THREADS] for the threads of a profile, and adds up what they did by the
 * clock.  `counted`: the rank's work was counted at all. */
struct rf_error *rank_threads_add(struct rank_threads *threads, const struct profile *profile,
				  struct row_merger *merger, bool counted);
/* Names the processes, once facts of the program are there. */
struct rf_error *rank_threads_finish(struct rank_threads *threads, struct profile *into);
void rank_threads_deinit(struct rank_threads *threads);
