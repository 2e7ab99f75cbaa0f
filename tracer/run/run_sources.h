/* Which sources a run takes its numbers from, decided before the program is started. */
#pragma once

#include "base/error.h"
#include "tracer/run/run_state.h"

/* Where times come from; RF_EUNAVAILABLE where the sampler that was asked for, or any, is refused.
 */
struct rf_error *run_choose_sampler(struct run *run);
/* Which hardware counters are read.  What was asked for and is not to be had is said; the next
 * source takes its place. */
struct rf_error *run_choose_counters(struct run *run);
/* Whether debug files are fetched; said before the program runs, so that it can be put right
 * without waiting for the end. */
void run_choose_debuginfod(struct run *run);
