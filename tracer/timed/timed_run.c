/* The timed run: the program is released, waited for, and what was sampled and counted goes into
 * the profile. */
#include "tracer/timed/timed_run.h"

#include "base/clock.h"

#include <errno.h>
#include <sys/wait.h>

struct rf_error *timed_run(struct launch *launch, struct profile *profile,
			   const struct sampler_ops *ops, struct sampler *sampler,
			   struct pmu_run *counters, int *status, double *wall_s)
{
	struct rf_error *error = ops->start(sampler, launch->pid);
	if (error)
		return error;
	const uint64_t start_ns = clock_now_ns();
	launch_release(launch);
	while (waitpid(launch->pid, status, 0) < 0 && errno == EINTR)
		;
	*wall_s = (double)(clock_now_ns() - start_ns) * 1e-9;
	pmu_run_stop(counters);
	error = ops->finish(sampler, profile);
	return error ? error : pmu_run_save(counters, profile);
}
