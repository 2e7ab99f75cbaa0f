/* The timed run: the program runs natively and is sampled. */
#pragma once

#include "base/error.h"
#include "profile/profile.h"
#include "tracer/launch/launch.h"
#include "tracer/timed/pmu_run.h"
#include "tracer/timed/sampler.h"

/* Releases the child that waits in `launch`, waits for its end, and adds samples, threads,
 * modules and what `counters` (or NULL) counted to the profile.  *status gets its wait status,
 * *wall_s the time from the release. */
struct rf_error *timed_run(struct launch *launch, struct profile *profile,
			   const struct sampler_ops *ops, struct sampler *sampler,
			   struct pmu_run *counters, int *status, double *wall_s);
