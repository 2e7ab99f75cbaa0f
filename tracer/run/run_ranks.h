/* What is otherwise where a launcher has started the program as one rank of a job. */
#pragma once

#include "tracer/run/run_state.h"

/* Changes the options to those of a rank: one run, which counts, unless `options->kind` says which;
 * of the ranks that are not in `list` ("0,2-4"; NULL: all are) one that times; no roofs measured
 * behind it; nobody but rank 0 says anything.  Of a process that is no rank nothing is changed.
 * RF_EINPUT: `list` is no list, or there are no ranks. */
struct rf_error *run_ranks_adjust(const char *list, struct run_options *options);
/* Writes into the profile which rank it is of. */
void run_ranks_note(struct run *run);
/* Roofs by one rank of a node at a time; where they cannot be kept, the later ones have none, and
 * say so. */
struct rf_error *run_ranks_roofs(struct run *run);
/* What rank 0 says before the run; NULL: what is said of a program that is no rank. */
const char *run_ranks_announcement(const struct run *run);
