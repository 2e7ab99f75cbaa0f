/* Calls of kernels in the timed run: they are timed one by one, and with --caches=cold the
 * machine's caches are flushed where they begin.  Where that cannot be, facts of the profile say
 * why. */
#pragma once

#include "tracer/run/run_state.h"

#include <sys/types.h>

struct cache_flush;
struct call_watch;
struct switch_log;

struct run_calls {
	struct call_watch *watch;    /* or NULL */
	struct cache_flush *flush;   /* or NULL */
	struct switch_log *switches; /* with `flush`; or NULL */
};

/* Before the program is released and before the sampler starts. */
void run_calls_prepare(struct run_calls *calls, const struct run *run, pid_t pid,
		       struct profile *profile);
/* The same, behind the sampler's start. */
void run_calls_flush(struct run_calls *calls, const struct run *run, pid_t pid,
		     struct sampler *sampler);
/* Behind the release: the program goes to its entry point, where it is stopped for a moment, and
 * on.
 */
void run_calls_begin(struct run_calls *calls, pid_t pid, struct profile *profile);
/* The program has ended.  Fails only when memory is short. */
struct rf_error *run_calls_finish(struct run_calls *calls, struct profile *profile);
/* All has been played of what the sampler has. */
void run_calls_deinit(struct run_calls *calls, struct sampler *sampler);
/* Behind all runs: times of kernels that were not counted are of no use. */
void run_calls_settle(struct profile *profile);
