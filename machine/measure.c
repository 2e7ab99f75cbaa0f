#include "machine/measure.h"

#include "base/array.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

const struct measure_effort measure_effort_default = {
	.repeat_ns = 250000, .search_repeats = 4, .repeats = 20, .max_batches = 3,
	.calm_ns = UINT64_C(2200000000),
};

struct samples { double *items; size_t n_items, cap_items; };

/* One task's repeats: the threads write their own times, `times[repeat * n_threads + thread]`. */
struct repeats {
	struct team *team;
	const struct measure_task *task;
	uint64_t count;
	int n;
	struct { uint64_t start, end; } *times;
};

uint64_t measure_now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * UINT64_C(1000000000) + now.tv_nsec;
}

static int compare_doubles(const void *left, const void *right)
{
	double l = *(const double *)left, r = *(const double *)right;
	return (l > r) - (l < r);
}

static double quantile(const double *sorted, size_t n, double q)
{
	double at = q * (n - 1);
	size_t below = (size_t)at;
	if (below + 1 >= n)
		return sorted[n - 1];
	return sorted[below] + (at - below) * (sorted[below + 1] - sorted[below]);
}

struct measure_rate measure_summary(double *samples, size_t n)
{
	qsort(samples, n, sizeof(*samples), compare_doubles);
	return (struct measure_rate){
		.best = samples[n - 1], .median = quantile(samples, n, 0.5),
		.q1 = quantile(samples, n, 0.25), .q3 = quantile(samples, n, 0.75),
	};
}

static void repeat_on_thread(void *context, int thread)
{
	struct repeats *repeats = context;
	const struct measure_task *task = repeats->task;
	int n_threads = team_size(repeats->team);
	for (int i = 0; i < repeats->n; i++) {
		team_barrier(repeats->team);
		uint64_t start = measure_now_ns();
		task->run(task->context, thread, repeats->count);
		uint64_t end = measure_now_ns();
		repeats->times[i * n_threads + thread].start = start;
		repeats->times[i * n_threads + thread].end = end;
	}
}

/* Nanoseconds from the first start to the last end of repeat `i`; at least 1. */
static uint64_t elapsed_of(const struct repeats *repeats, int i)
{
	int n_threads = team_size(repeats->team);
	uint64_t start = UINT64_MAX, end = 0;
	for (int thread = 0; thread < n_threads; thread++) {
		uint64_t s = repeats->times[i * n_threads + thread].start;
		uint64_t e = repeats->times[i * n_threads + thread].end;
		start = s < start ? s : start;
		end = e > end ? e : end;
	}
	return end > start ? end - start : 1;
}

/* Runs `n` repeats of `count`; appends a rate for each to `samples` and sets *shortest (either may
 * be NULL). */
static struct rf_error *run_repeats(struct team *team, const struct measure_task *task,
				    uint64_t count, int n, struct samples *samples,
				    uint64_t *shortest)
{
	int n_threads = team_size(team);
	struct repeats repeats = { .team = team, .task = task, .count = count, .n = n };
	repeats.times = calloc((size_t)n * n_threads, sizeof(*repeats.times));
	if (!repeats.times)
		return rf_error_create(RF_EINTERNAL, NULL, "out of memory");
	team_run(team, repeat_on_thread, &repeats);
	bool ok = true;
	uint64_t least = UINT64_MAX;
	for (int i = 0; i < n && ok; i++) {
		uint64_t elapsed = elapsed_of(&repeats, i);
		least = elapsed < least ? elapsed : least;
		double rate = task->work * count * n_threads / elapsed;
		if (samples)
			ok = rf_array_push(samples->items, samples->n_items, samples->cap_items, rate);
	}
	free(repeats.times);
	if (shortest)
		*shortest = least;
	return ok ? NULL : rf_error_create(RF_EINTERNAL, NULL, "out of memory");
}

/* Finds the count that takes about `repeat_ns`.  The shortest of three runs is believed, because
 * a disturbed one would make the repeats too short. */
static struct rf_error *calibrate(struct team *team, const struct measure_task *task,
				  uint64_t repeat_ns, uint64_t *count)
{
	const uint64_t limit = UINT64_C(1) << 40;
	for (*count = 1; *count < limit; *count *= 4) {
		uint64_t elapsed;
		struct rf_error *error = run_repeats(team, task, *count, 3, NULL, &elapsed);
		if (error)
			return error;
		if (elapsed < repeat_ns / 8)
			continue;
		*count = ceil(*count * (double)repeat_ns / elapsed);
		return NULL;
	}
	return NULL;
}

/* The samples so far and the repeat count of each candidate. */
struct candidate { struct samples samples; uint64_t count; };

static double best_of(const struct samples *samples)
{
	double best = 0;
	for (size_t i = 0; i < samples->n_items; i++)
		best = samples->items[i] > best ? samples->items[i] : best;
	return best;
}

/* The count of work that takes about `repeat_ns` at `rate`. */
static uint64_t count_for(const struct team *team, const struct measure_task *task, double rate,
			  uint64_t repeat_ns)
{
	return ceil(repeat_ns * rate / (task->work * team_size(team)));
}

/* Calibrates the first candidate and gives the others as much work. */
static struct rf_error *calibrate_all(struct team *team, const struct measure_task *tasks, size_t n,
				      uint64_t repeat_ns, struct candidate *candidates)
{
	struct rf_error *error = calibrate(team, &tasks[0], repeat_ns, &candidates[0].count);
	for (size_t i = 1; i < n && !error; i++)
		candidates[i].count = ceil(candidates[0].count * tasks[0].work / tasks[i].work);
	return error;
}

static struct rf_error *search(struct team *team, const struct measure_task *tasks, size_t n,
			       const struct measure_effort *effort, struct candidate *candidates,
			       size_t *best)
{
	struct rf_error *error = calibrate_all(team, tasks, n, effort->repeat_ns, candidates);
	for (int round = 0; round < effort->search_repeats && !error; round++)
		for (size_t i = 0; i < n && !error; i++)
			error = run_repeats(team, &tasks[i], candidates[i].count, 1,
					    &candidates[i].samples, NULL);
	if (error)
		return error;
	*best = 0;
	for (size_t i = 1; i < n; i++)
		if (best_of(&candidates[i].samples) > best_of(&candidates[*best].samples))
			*best = i;
	candidates[*best].count = count_for(team, &tasks[*best],
					    best_of(&candidates[*best].samples), effort->repeat_ns);
	return NULL;
}

static struct rf_error *measure_at_length(struct team *team, const struct measure_task *task,
					  const struct measure_effort *effort,
					  struct candidate *candidate, struct measure_rate *rate)
{
	for (int batch = 0; batch < effort->max_batches; batch++) {
		struct rf_error *error = run_repeats(team, task, candidate->count, effort->repeats,
						     &candidate->samples, NULL);
		if (error)
			return error;
		*rate = measure_summary(candidate->samples.items, candidate->samples.n_items);
		if (rate->q3 - rate->q1 < 0.05 * rate->median)
			break;
	}
	return NULL;
}

struct rf_error *measure_fastest(struct team *team, const struct measure_task *candidates,
				 size_t n_candidates, const struct measure_effort *effort,
				 struct measure_rate *rate, size_t *best)
{
	struct candidate *found = calloc(n_candidates, sizeof(*found));
	if (!found)
		return rf_error_create(RF_EINTERNAL, NULL, "out of memory");
	struct rf_error *error = search(team, candidates, n_candidates, effort, found, best);
	if (!error)
		error = measure_at_length(team, &candidates[*best], effort, &found[*best], rate);
	for (size_t i = 0; i < n_candidates; i++)
		free(found[i].samples.items);
	free(found);
	return error;
}
