/* Runs the program once: timed, or counted. */
#pragma once

#include "base/error.h"
#include "tracer/run/run_state.h"

/* What a timed run leaves. */
struct timed_run {
	struct profile *profile; /* samples, threads, counters, and facts of them */
	struct profile_timed_run row;
	bool other_output; /* it wrote something else than run 1 */
	bool has_ended;    /* row.exit_status is the program's, whatever failed behind its end */
};

/* The native run, sampled, with hardware counters where they were chosen; into timed->profile,
 * which is new.  number: 1, or 2 for one whose input is that of run 1 again, and whose output goes
 * nowhere. */
struct rf_error *run_timed(struct run *run, int number, struct timed_run *timed);
/* A counted run; as run 1, the only one, it is sampled too. */
struct rf_error *run_counted(struct run *run, int number);
/* Waits until what a counted run had is given back, which goes on beside other things. */
void run_counted_finish(struct run *run);
