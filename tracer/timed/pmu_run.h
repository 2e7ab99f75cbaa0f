/* The hardware counters of a timed run: opened before its execve, sampled beside its time, saved in
 * its profile. */
#pragma once

#include "base/error.h"
#include "profile/profile.h"
#include "tracer/pmu/pmu_plan.h"
#include "tracer/timed/sampler.h"

struct pmu_run;

/* Opens the events of the plan that are used for `pid`, which waits before its execve; `sampler`
 * (of sampler_perf, not yet started) will hand their samples on.  RF_EUNAVAILABLE with the reason
 * when the kernel refuses them.  The plan must outlive the run. */
struct rf_error *pmu_run_start(const struct perf_source *source, const struct pmu_plan *plan,
			       pid_t pid, bool first_only, struct sampler *sampler,
			       struct pmu_run **run);
/* The program has ended, the sampler is not finished yet.  NULL is allowed, here and below. */
void pmu_run_stop(struct pmu_run *run);
/* After the sampler's finish, before its destroy: adds counters and counter_places. */
struct rf_error *pmu_run_save(struct pmu_run *run, struct profile *profile);
void pmu_run_destroy(struct pmu_run *run);
