/* Medians and spreads over timed runs. */
#include "report/model/model_runs.h"

#include "profile/function_index.h"
#include "report/model/model_samples.h"
#include "statistics/student.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

size_t model_n_runs(const struct profile *profile)
{
	const bool times = profile->n_run_times + profile->n_sum_run_times > 0;
	return profile->n_timed_runs > 1 && times ? profile->n_timed_runs : 0;
}

static const struct profile_timed_run *shown_run(const struct profile *profile)
{
	for (size_t i = 0; i < profile->n_timed_runs; i++)
		if (profile->timed_runs[i].shown)
			return &profile->timed_runs[i];
	return NULL;
}

double model_unsampled_s(const struct profile *profile)
{
	const struct profile_timed_run *run = shown_run(profile);
	const bool all = run && !profile_flag_fact(profile, "no_children") &&
			 !profile_flag_fact(profile, "once");
	const double sampled = run ? (double)run->time_ns * 1e-9 : 0;
	const double missing = all ? run->user_s - sampled : 0;
	const double chance =
		0.02 + (run && run->samples ? 3 * sampled / sqrt((double)run->samples) : 0);
	return missing > chance && missing > 0.1 * run->user_s ? missing : 0;
}

/* Less what the samples cost, as model_sample_weight. */
static struct model_run_time less_cost(uint64_t samples, uint64_t time_ns, uint64_t cost)
{
	const double off = (double)samples * (double)cost, most = (double)time_ns / 2;
	return (struct model_run_time){samples, time_ns - (uint64_t)fmin(off, most)};
}

struct model_run_time *model_sum_run_times(const struct profile *profile,
					   const struct model_rows *rows)
{
	const size_t n = profile->n_timed_runs;
	const size_t n_places = rows ? rows->n_places : profile_n_places(profile);
	const uint64_t cost = model_sample_cost(profile);
	struct model_run_time *times = calloc(n_places * n + 1, sizeof(*times));
	for (size_t i = 0; times && i < profile->n_run_times; i++) {
		const struct profile_run_time *from = &profile->run_times[i];
		const size_t place =
			rows ? model_row_at(rows, from->module, from->offset, NULL)
			     : profile_place_at(profile, from->module, from->offset, NULL);
		const struct model_run_time part = less_cost(from->samples, from->time_ns, cost);
		struct model_run_time *time = &times[place * n + from->timed_run];
		assert(place < n_places);
		time->samples += part.samples;
		model_add_ns(&time->time_ns, part.time_ns);
	}
	return times;
}

/* ---- of one place ---- */

static double mean_samples(const struct model_run_time *times, size_t n)
{
	double sum = 0;
	for (size_t i = 0; i < n; i++)
		sum += (double)times[i].samples;
	return sum / (double)n;
}

struct model_runs model_runs_of(const struct model_run_time *times, size_t n)
{
	double seconds[PROFILE_MAX_RUNS];
	assert(n > 0 && n <= PROFILE_MAX_RUNS);
	for (size_t i = 0; i < n; i++)
		seconds[i] = (double)times[i].time_ns * 1e-9;
	return (struct model_runs){n, rf_summary(seconds, n)};
}

double model_run_scale(const struct profile *profile, const struct model_run_time *times)
{
	const size_t n = profile->n_timed_runs;
	const struct profile_timed_run *run = shown_run(profile);
	const double now = run ? (double)times[run - profile->timed_runs].time_ns * 1e-9 : 0;
	if (now <= 0 || mean_samples(times, n) < MODEL_FEW_SAMPLES)
		return 1;
	return model_runs_of(times, n).s.median / now;
}

double model_run_halfwidth(const struct model_run_time *times, size_t n, double time_s)
{
	const double samples = mean_samples(times, n), of_median = sqrt(M_PI / 2 / (double)n),
		     median = model_runs_of(times, n).s.median;
	double mean = 0, squares = 0;
	for (size_t i = 0; i < n; i++)
		mean += (double)times[i].time_ns * 1e-9 / (double)n;
	for (size_t i = 0; i < n; i++)
		squares += pow((double)times[i].time_ns * 1e-9 - mean, 2);
	const double between = rf_student((unsigned)n - 1) * sqrt(squares / (double)(n - 1)),
		     within = samples > 0 ? 1.96 * mean / sqrt(samples) : 0;
	if (samples < MODEL_FEW_SAMPLES)
		return fmax(between, within);
	/* a row of several functions, or a part of one, has another time than its median */
	return fmax(between, within) * of_median * (median > 0 ? time_s / median : 1);
}

/* ---- of the program ---- */

void model_total_runs(const struct profile *profile, struct model *model)
{
	const size_t n = profile->n_timed_runs;
	const uint64_t cost = model_sample_cost(profile);
	const double time_s = (double)model->time_ns * 1e-9;
	struct model_run_time times[PROFILE_MAX_RUNS], walls[PROFILE_MAX_RUNS];
	model->halfwidth_s = model->n_samples ? 1.96 * model_sample_spread(profile) * time_s /
							sqrt((double)model->n_samples)
					      : 0;
	assert(n <= PROFILE_MAX_RUNS);
	for (size_t i = 0; i < n; i++) {
		const struct profile_timed_run *run = &profile->timed_runs[i];
		times[i] = less_cost(run->samples, run->time_ns, cost);
		/* the clock does not sample */
		walls[i] = (struct model_run_time){UINT64_MAX,
						   (uint64_t)fmin(run->wall_s * 1e9, 0x1p62)};
	}
	if (n < 2)
		return;
	model->runs = model_runs_of(times, n);
	model->wall = model_runs_of(walls, n);
	model->wall_halfwidth_s = model_run_halfwidth(walls, n, model->wall.s.median);
	model->halfwidth_s = model_run_halfwidth(times, n, time_s);
}
