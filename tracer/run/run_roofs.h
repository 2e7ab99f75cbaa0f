/* The roofs of this machine, before a run and behind it. */
#pragma once

#include "tracer/run/run_state.h"

/* Takes the machine's roofs into run->machine where all are kept; says and measures nothing. */
void run_roofs_look(struct run *run);
/* Reads the machine's roofs into run->machine, or measures them now where they are not known yet.
 */
struct rf_error *run_roofs_read(struct run *run);

/* Behind the runs: measures some roofs again (unless run->options->keep_roofs, or interrupted),
 * says where the machine is slower now than its roofs, and takes all into the profile with the
 * custom roofs, so that it can be redrawn anywhere. */
struct rf_error *run_roofs_take(struct run *run);

/* Whether some are measured again behind a run of that wall time: behind a short one only where
 * none was measured within the hour before `now_s` (seconds of 1970, as in the rows' histories). */
bool run_roofs_due(const struct machine *machine, double wall_ns, int64_t now_s);

/* What to say of rows that were measured again behind the run: a sentence about the one that lies
 * farthest below its best, heap, and its share of the best in *share (1: none lies below).  NULL:
 * none is below ROOF_MODE of its best, or memory is short. */
char *run_roofs_slower(const struct machine *machine, double *share);
