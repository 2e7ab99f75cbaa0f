/* Times tasks on a team of threads, and makes rates of the times. */
#include "machine/roofs/measure.h"

#include "base/array.h"
#include "base/clock.h"
#include "machine/kernels/clock_kernels.h"
#include "statistics/summary.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>

/* The clock is measured for about 25 us at 4 GHz: reading the time does not count in it, and a
 * clock that fell under vector code has not risen again. */
#define CLOCK_COUNTS 400
#define CLOCK_REPEATS 20

/* Of one thread in one repeat, ns. */
struct times {
	uint64_t start, end, clock_ns;
};

/* One task's repeats: the threads write their own times, `times[repeat * n_threads + thread]`. */
struct repeats {
	struct team *team;
	const struct measure_task *task;
	uint64_t count;
	int n;
	struct times *times;
};

/* What one repeat showed. */
struct repeat {
	double rate, clock_ghz;
};

struct measure_rate measure_summary(double *rates, size_t n)
{
	const struct summary summary = rf_summary(rates, n);
	return (struct measure_rate){
		.best = summary.most,
		.median = summary.median,
		.q1 = summary.q1,
		.q3 = summary.q3,
	};
}

static void repeat_on_thread(void *context, int thread)
{
	struct repeats *repeats = context;
	const struct measure_task *task = repeats->task;
	int n_threads = team_size(repeats->team);
	for (int i = 0; i < repeats->n; i++) {
		struct times *times = &repeats->times[i * n_threads + thread];
		team_barrier(repeats->team);
		times->start = clock_now_ns();
		task->run(task->context, thread, repeats->count);
		times->end = clock_now_ns();
		if (!task->with_clock)
			continue;
		uint64_t start = clock_now_ns();
		clock_adds(CLOCK_COUNTS);
		times->clock_ns = clock_now_ns() - start;
	}
}

/* The rate of repeat `i`, and the clock beside it (0: not measured) in *ghz. */
static double rate_of(const struct repeats *repeats, int i, double *ghz)
{
	int n_threads = team_size(repeats->team);
	uint64_t start = UINT64_MAX, end = 0;
	*ghz = 0;
	for (int thread = 0; thread < n_threads; thread++) {
		const struct times *times = &repeats->times[i * n_threads + thread];
		start = times->start < start ? times->start : start;
		end = times->end > end ? times->end : end;
		if (times->clock_ns)
			*ghz += (double)CLOCK_COUNTS * CLOCK_CYCLES_PER_COUNT / times->clock_ns /
				n_threads;
	}
	return repeats->task->work * repeats->count * n_threads / (end > start ? end - start : 1);
}

/* Runs `n` repeats of `count` and writes a rate and a clock (0: not measured) for each.  Other load
 * only makes the clock seem lower, so of those behind and before a repeat the higher one counts. */
static struct rf_error *run_repeats(struct team *team, const struct measure_task *task,
				    uint64_t count, int n, struct repeat *results)
{
	struct repeats repeats = {.team = team, .task = task, .count = count, .n = n};
	repeats.times = calloc((size_t)n * team_size(team), sizeof(*repeats.times));
	if (!repeats.times)
		return rf_error_no_memory();
	team_run(team, repeat_on_thread, &repeats);
	double before = 0;
	for (int i = 0; i < n; i++) {
		double behind;
		results[i].rate = rate_of(&repeats, i, &behind);
		results[i].clock_ghz = fmax(before, behind);
		before = behind;
	}
	free(repeats.times);
	return NULL;
}

/* The count of work that takes about `repeat_ns` at `rate`. */
static uint64_t count_for(const struct team *team, const struct measure_task *task, double rate,
			  uint64_t repeat_ns)
{
	double count = ceil(repeat_ns * rate / (task->work * team_size(team)));
	return count >= 1 ? (uint64_t)count : 1;
}

/* Finds the count that takes about `repeat_ns`.  The best of three runs is believed, because a
 * disturbed one would make the repeats too short. */
static struct rf_error *calibrate(struct team *team, const struct measure_task *task,
				  uint64_t repeat_ns, uint64_t *count)
{
	const uint64_t limit = UINT64_C(1) << 40;
	struct rf_error *error = NULL;
	for (*count = 1; *count < limit && !error; *count *= 4) {
		struct repeat of[3];
		error = run_repeats(team, task, *count, 3, of);
		if (error)
			break;
		double rate = fmax(of[0].rate, fmax(of[1].rate, of[2].rate));
		uint64_t wanted = count_for(team, task, rate, repeat_ns);
		if (*count < wanted / 8)
			continue;
		*count = wanted;
		break;
	}
	return error;
}

/* The best rate so far and the repeat count of each candidate. */
struct candidate {
	double best;
	uint64_t count;
};

struct rf_error *measure_search(struct team *team, const struct measure_task *tasks, size_t n,
				uint64_t repeat_ns, int rounds, struct measure_series *series)
{
	struct candidate *candidates = calloc(n, sizeof(*candidates));
	if (!candidates)
		return rf_error_no_memory();
	/* The others get as much work as the first one. */
	struct rf_error *error = calibrate(team, &tasks[0], repeat_ns, &candidates[0].count);
	for (size_t i = 1; i < n; i++)
		candidates[i].count = ceil(candidates[0].count * tasks[0].work / tasks[i].work);
	for (int round = 0; round < rounds && !error; round++)
		for (size_t i = 0; i < n && !error; i++) {
			struct repeat repeat;
			error = run_repeats(team, &tasks[i], candidates[i].count, 1, &repeat);
			if (!error)
				candidates[i].best = fmax(candidates[i].best, repeat.rate);
		}
	series->best = 0;
	for (size_t i = 1; i < n; i++)
		if (candidates[i].best > candidates[series->best].best)
			series->best = i;
	series->count =
		count_for(team, &tasks[series->best], candidates[series->best].best, repeat_ns);
	free(candidates);
	return error;
}

struct rf_error *measure_repeats(struct team *team, const struct measure_task *task, int n,
				 struct measure_series *series)
{
	struct repeat *repeats = calloc(n, sizeof(*repeats));
	if (!repeats)
		return rf_error_no_memory();
	struct rf_error *error = run_repeats(team, task, series->count, n, repeats);
	for (int i = 0; i < n && !error; i++) {
		if (repeats[i].rate > series->highest) {
			series->highest = repeats[i].rate;
			series->clock_ghz = repeats[i].clock_ghz;
		}
		if (!rf_array_push(series->rates, series->n_rates, series->cap_rates,
				   repeats[i].rate))
			error = rf_error_no_memory();
	}
	free(repeats);
	return error;
}

void measure_series_deinit(struct measure_series *series)
{
	free(series->rates);
	*series = (struct measure_series){0};
}

static void adds(void *context, int thread, uint64_t count)
{
	clock_adds(count);
}

static void adds_with_vectors(void *context, int thread, uint64_t count)
{
	clock_adds_with_vectors(count);
}

/* The clock of a team's cores, in 1e9 cycles a second, while they `run` dependent adds: the mean
 * over the threads, of the fastest repeat.  Keeps the higher of several measurements. */
static struct rf_error *raise_clock(struct team *team, void (*run)(void *, int, uint64_t),
				    double *ghz)
{
	const struct measure_task task = {.run = run, .work = CLOCK_CYCLES_PER_COUNT};
	struct measure_series series = {0};
	struct rf_error *error = measure_search(team, &task, 1, MEASURE_REPEAT_NS, 1, &series);
	if (!error)
		error = measure_repeats(team, &task, CLOCK_REPEATS, &series);
	if (!error)
		*ghz = fmax(*ghz, series.highest / team_size(team));
	measure_series_deinit(&series);
	return error;
}

struct rf_error *measure_clocks(struct team *team, double *ghz, double *fp_ghz)
{
	struct rf_error *error = raise_clock(team, adds, ghz);
	return error ? error : raise_clock(team, adds_with_vectors, fp_ghz);
}
