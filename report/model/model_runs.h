/* A program that was timed several times (--repeat): the time of a row in each run, its median and
 * its spread. */
#pragma once

#include "report/model/model_rows.h"

/* A row's time in one of the runs. */
struct model_run_time {
	uint64_t samples;
	uint64_t time_ns; /* less what the samples cost */
};

/* User time of the timed run that is shown, s, that the kernel accounts for and no sample stands
 * for; 0 where that can be chance (below 10 %, three standard deviations and 20 ms), or where the
 * kernel's account is of more than what was sampled (--no-children, --once). */
double model_unsampled_s(const struct profile *profile);
/* How many timed runs a profile has times of, where these are several; else 0. */
size_t model_n_runs(const struct profile *profile);

/* Times of places in all runs, [place × n runs + run], to be freed.  Places are the rows of `rows`
 * without their second parts, or for NULL those of profile/function_index.h.  NULL when memory is
 * short. */
struct model_run_time *model_sum_run_times(const struct profile *profile,
					   const struct model_rows *rows);

/* What the time in the run that is shown is to be multiplied by: its median over that time.  1 for
 * a place with few samples (MODEL_FEW_SAMPLES in the mean): a median of small counts is biased. */
double model_run_scale(const struct profile *profile, const struct model_run_time *times);

/* The quartiles and ends of the `n` times of a place. */
struct model_runs model_runs_of(const struct model_run_time *times, size_t n);

/* Half-width, 95 %, of a place's time `time_s`, which is its median over the runs, or with few
 * samples its time in one run.  It is that of the spread between the runs, Student's t × s ×
 * √(π/2n) (the standard error of the median of a normal sample), and at least that of the samples
 * alone. */
double model_run_halfwidth(const struct model_run_time *times, size_t n, double time_s);

/* Sets the figures of the whole program: model->runs, model->wall and model->halfwidth_s. */
void model_total_runs(const struct profile *profile, struct model *model);
