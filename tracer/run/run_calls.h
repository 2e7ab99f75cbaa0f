/* Calls of kernels in the timed run: when they are timed one by one, and why they are not. */
#pragma once

#include "tracer/run/run_state.h"

#include <sys/types.h>

struct call_watch;

/* Before the program is released and before the sampler starts.  NULL: no calls are timed, which
 * the profile's facts explain where kernels were asked for. */
struct call_watch *run_calls_prepare(const struct run *run, pid_t pid, struct profile *profile);
/* Behind the release: the program's first process goes to its entry point, where it is stopped for
 * a moment, and on. */
void run_calls_begin(struct call_watch *watch, pid_t pid, struct profile *profile);
/* The program has ended; NULL is allowed. */
struct rf_error *run_calls_finish(struct call_watch *watch, struct profile *profile);
/* Behind all runs: times of kernels that were not counted are of no use. */
void run_calls_settle(struct profile *profile);
