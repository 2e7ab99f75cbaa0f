/* Saves a schedule in a profile. */
#include "tracer/schedule/schedule_rows.h"

#include "base/array.h"

#include <inttypes.h>

static uint64_t since(uint64_t start, uint64_t time)
{
	return time > start ? time - start : 0;
}

static struct rf_error *add_threads(const struct schedule *schedule, uint64_t start,
				    struct profile *profile)
{
	size_t n;
	const struct schedule_thread *threads = schedule_threads(schedule, &n);
	struct rf_error *error = NULL;
	for (size_t i = 0; !error && i < n; i++) {
		const struct schedule_thread *of = &threads[i];
		const struct profile_thread_time row = {
			.thread =
				profile_thread(profile, RUN_TIMED, (int)of->pid, (int)of->tid, ""),
			.start_ns = since(start, of->start),
			.end_ns = since(start, of->end),
			.ran_ns = of->ran_ns,
			.ready_ns = of->ready_ns,
			.waited_ns = of->waited_ns,
			.voluntary = of->voluntary,
			.involuntary = of->involuntary,
			.preempted_ns = of->preempted_ns,
		};
		error = row.thread == PROFILE_NONE
				? rf_error_no_memory()
				: rf_array_add(profile->thread_times, profile->n_thread_times,
					       profile->cap_thread_times, row);
	}
	return error;
}

static struct rf_error *add_concurrency(const struct schedule_sums *sums, struct profile *profile)
{
	struct rf_error *error = NULL;
	for (uint32_t i = 0; !error && i < sums->n_running; i++) {
		const struct profile_concurrency row = {i, sums->running_ns[i],
							i ? 0 : sums->idle_ready_ns};
		error = rf_array_add(profile->concurrency, profile->n_concurrency,
				     profile->cap_concurrency, row);
	}
	return error;
}

/* Up to the last one in which anything ran. */
static struct rf_error *add_slices(const struct schedule_sums *sums, struct profile *profile)
{
	struct rf_error *error = NULL;
	size_t n = SCHEDULE_STRIP;
	while (n > 0 && !sums->busy_ns[n - 1])
		n--;
	for (size_t i = 0; !error && i < n; i++) {
		const struct profile_slice row = {sums->busy_ns[i]};
		error = rf_array_add(profile->slices, profile->n_slices, profile->cap_slices, row);
	}
	profile_set_fact(profile, "slice_ns", "%" PRIu64, sums->slice_ns);
	return error;
}

struct rf_error *schedule_save(const struct schedule *schedule, uint64_t start,
			       struct profile *profile)
{
	const struct schedule_sums *sums = schedule_get_sums(schedule);
	if (!sums->start)
		return NULL;
	return add_threads(schedule, start, profile) ?: add_concurrency(sums, profile)
	       ?: add_slices(sums, profile);
}
