/* The timed runs: one, or as many as --repeat asks for. */
#pragma once

#include "base/error.h"
#include "tracer/run/run_state.h"

/* Times the program run->options->repeat times; of the runs that ended, the profile gets the one
 * whose time is the median, and of the others their times by place in the code.  A signal that asks
 * for an end ends the repetition: a run that it has cut short is left out, unless it is the first.
 * run->timed_status is that of the first run, or of the one that was cut short. */
struct rf_error *run_timed_all(struct run *run);
