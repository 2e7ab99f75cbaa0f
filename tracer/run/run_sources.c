/* Chooses samplers and counters by what was asked for and by what the system allows. */
#include "tracer/run/run_sources.h"

#include "symbols/debuginfod.h"

struct rf_error *run_choose_sampler(struct run *run)
{
	const enum sampler_option wanted = run->options->sampler;
	if (wanted != SAMPLER_TIMER) {
		struct rf_error *refusal = sampler_perf.probe();
		if (!refusal)
			run->sampler_ops = &sampler_perf;
		if (!refusal || wanted == SAMPLER_PERF)
			return refusal;
		run_log_warn(&run->log, refusal);
	}
	run->sampler_ops = &sampler_timer;
	return sampler_timer.probe();
}

struct rf_error *run_choose_counters(struct run *run)
{
	struct rf_error *error =
		pmu_plan_init(&perf_source_kernel, &run->options->counters, &run->counters);
	const struct choice *choice = &run->counters.choice;
	if (error || !choice->refused)
		return error;
	const enum work_option work = run->options->counters.work;
	const char *why =
		work == WORK_PMU || work == WORK_BOTH ? choice->why_work : choice->why_traffic;
	run_log_warn(&run->log, rf_error_create(RF_EUNAVAILABLE, NULL, "%s", why));
	return NULL;
}

void run_choose_debuginfod(struct run *run)
{
	struct rf_error *error = run->options->debuginfod ? debuginfod_check() : NULL;
	run->fetches = run->options->debuginfod && !error;
	run_log_warn(&run->log, error);
}
