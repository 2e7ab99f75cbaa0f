/* From what was played to the profile of the run. */
#pragma once

#include "base/error.h"
#include "tracer/timed/sample_player.h"

/* Adds processes, threads, modules, frames and samples to a profile.  Times become those since
 * `start` (CLOCK_MONOTONIC, ns), and the counters' places refer to rows of `to` from then on. */
struct rf_error *sample_copy(struct played *played, uint64_t start, struct profile *to);
