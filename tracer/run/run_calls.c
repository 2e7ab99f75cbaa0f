/* Breakpoints at kernels in the timed run, between its start and its end. */
#include "tracer/run/run_calls.h"

#include "tracer/calls/call_watch.h"
#include "tracer/calls/switch_log.h"
#include "tracer/flush/cache_flush.h"
#include "tracer/flush/stopped_calls.h"
#include "tracer/span/entry_stop.h"

#include <inttypes.h>

static void say_why(struct profile *profile, struct rf_error *error)
{
	if (error)
		profile_set_fact(profile, "call_times_why", "%s", error->message);
	rf_error_destroy(error);
}

void run_calls_prepare(struct run_calls *calls, const struct run *run, pid_t pid,
		       struct profile *profile)
{
	const char *kernels = run->options->traffic.kernels;
	*calls = (struct run_calls){0};
	if (!kernels)
		return;
	struct rf_error *error =
		run->sampler_ops == &sampler_perf
			? NULL
			: rf_error_create(RF_EUNAVAILABLE, NULL, "that needs the sampler perf");
	if (!error && run->options->traffic.caches_at_calls == CACHES_COLD)
		error = switch_log_create(pid, &calls->switches);
	else if (!error)
		error = call_watch_create(pid, kernels, run->options->no_children, &calls->watch)
				?: entry_stop_prepare(pid);
	if (!error)
		return;
	call_watch_destroy(calls->watch);
	calls->watch = NULL;
	say_why(profile, error);
}

/* ---- cold caches ---- */

static bool is_flushing(const void *context, uint32_t pid, uint64_t address, bool in_kernel)
{
	return cache_flush_has(context, pid, address, in_kernel);
}

/* Where the machine's caches cannot be flushed times are those of caches as they are. */
void run_calls_flush(struct run_calls *calls, const struct run *run, pid_t pid,
		     struct sampler *sampler)
{
	struct rf_error *error = NULL;
	if (run->options->traffic.caches_at_calls != CACHES_COLD)
		return;
	if (run->sampler_ops != &sampler_perf)
		error = rf_error_create(RF_EUNAVAILABLE, NULL, "that needs the sampler perf");
	else if (run->span && span_is_by_function(run->span))
		error = rf_error_create(RF_EUNAVAILABLE, NULL, "not with --start-at and --stop-at");
	else
		error = cache_flush_start(pid, run->options->traffic.kernels, &calls->flush);
	if (error)
		profile_set_fact(sampler->profile, "flush_why", "%s", error->message);
	rf_error_destroy(error);
	sampler->is_ours = calls->flush ? is_flushing : NULL;
	sampler->ours_context = calls->flush;
}

/* With the times of the calls that they were flushed for. */
static struct rf_error *note_flushing(struct profile *profile, const struct cache_flush *flush,
				      struct switch_log *switches)
{
	const struct cache_flush_sums *sums = cache_flush_get_sums(flush);
	profile_set_fact(profile, "flush_calls", "%" PRIu64, sums->calls);
	profile_set_fact(profile, "flush_s", "%.6f", (double)sums->ns * 1e-9);
	if (sums->failed)
		profile_set_fact(profile, "flush_failed", "%" PRIu64, sums->failed);
	if (sums->missing[0])
		profile_set_fact(profile, "flush_missing", "%s", sums->missing);
	if (sums->why[0])
		profile_set_fact(profile, "flush_why", "%s", sums->why);
	return switches && sums->calls
		       ? stopped_calls_save(cache_flush_calls(flush), switches, profile)
		       : NULL;
}

/* ---- begin and end ---- */

struct at_entry {
	struct call_watch *watch;
	struct profile *profile;
};

static struct rf_error *begin(void *context, pid_t pid)
{
	const struct at_entry *at = context;
	(void)pid;
	say_why(at->profile, call_watch_begin(at->watch));
	return NULL;
}

void run_calls_begin(struct run_calls *calls, pid_t pid, struct profile *profile)
{
	struct at_entry at = {calls->watch, profile};
	if (calls->watch)
		rf_error_destroy(entry_stop_wait(pid, begin, &at));
}

struct rf_error *run_calls_finish(struct run_calls *calls, struct profile *profile)
{
	if (calls->watch)
		return call_watch_finish(calls->watch, profile);
	return calls->flush ? note_flushing(profile, calls->flush, calls->switches) : NULL;
}

void run_calls_deinit(struct run_calls *calls, struct sampler *sampler)
{
	sampler->is_ours = NULL;
	call_watch_destroy(calls->watch);
	cache_flush_destroy(calls->flush);
	switch_log_destroy(calls->switches);
}

void run_calls_settle(struct profile *profile)
{
	if (profile->n_kernels)
		return;
	profile->n_kernel_times = profile->n_kernel_call_times = 0;
}
