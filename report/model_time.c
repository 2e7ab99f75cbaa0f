/* Samples → time and concurrency of each function. */
#include "report/model_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Width of a time bin for the concurrency, in sample periods. */
#define BIN_PERIODS 10

/* One sample, as far as concurrency is concerned. */
struct presence { uint32_t row, thread; uint64_t bin, weight_ns; };

static int compare_presence(const void *a, const void *b)
{
	const struct presence *x = a, *y = b;
	if (x->row != y->row)
		return x->row < y->row ? -1 : 1;
	if (x->bin != y->bin)
		return x->bin < y->bin ? -1 : 1;
	return x->thread < y->thread ? -1 : x->thread > y->thread;
}

/* Row of each frame, so that each is looked up once. */
static uint32_t *rows_of_frames(const struct model_rows *rows)
{
	const struct profile *profile = rows->profile;
	uint32_t *row_of = malloc((profile->n_frames + 1) * sizeof(*row_of));
	for (size_t i = 0; row_of && i < profile->n_frames; i++)
		row_of[i] = (uint32_t)model_row_at(rows, profile->frames[i].module,
						   profile->frames[i].offset, NULL);
	return row_of;
}

static uint64_t bin_width_ns(const struct profile *profile)
{
	const char *fact = profile_get_fact(profile, "sample_period_ns");
	double period = fact ? strtod(fact, NULL) : 0;
	if (!(period >= 1 && period <= 1e12)) /* unknown: what a sample stands for on average */
		period = profile->n_samples ? (double)profile->samples[0].weight_ns : 0;
	return period >= 1 && period <= 1e12 ? (uint64_t)(period * BIN_PERIODS) : 10000000;
}

/* Adds one bin of one function: Σ_k X_k and max_k X_k, X_k being thread k's time in it. */
static size_t add_bin(const struct presence *presence, size_t n, double *sum, double *most)
{
	size_t i = 0;
	double longest = 0;
	while (i < n && presence[i].row == presence->row && presence[i].bin == presence->bin) {
		uint32_t thread = presence[i].thread;
		double x = 0;
		for (; i < n && presence[i].row == presence->row &&
		       presence[i].bin == presence->bin && presence[i].thread == thread; i++)
			x += (double)presence[i].weight_ns;
		*sum += x;
		longest = x > longest ? x : longest;
	}
	*most += longest;
	return i;
}

/* Concurrency c of each row = Σ_bins Σ_k X_k / Σ_bins max_k X_k.  While any thread is inside is at
 * least as long as the longest of them is; with threads that are inside at the same time it is
 * that long, so c is exact for parallel regions and for a single thread.  Threads that take turns
 * within a bin count as concurrent: an estimate, from above.  Hardware threads bound it. */
static void set_concurrency(struct model_rows *rows, struct presence *presence, size_t n)
{
	const char *fact = profile_get_fact(rows->profile, "usable_threads");
	double limit = fact ? strtod(fact, NULL) : 0;
	qsort(presence, n, sizeof(*presence), compare_presence);
	for (size_t i = 0; i < n;) {
		uint32_t row = presence[i].row;
		double sum = 0, most = 0;
		while (i < n && presence[i].row == row)
			i += add_bin(presence + i, n - i, &sum, &most);
		double c = most > 0 ? sum / most : 1;
		rows->rows[row].concurrency = limit >= 1 && c > limit ? limit : c;
	}
}

static void add_samples(struct model_rows *rows, struct model *model, const uint32_t *row_of,
			struct presence *presence)
{
	const struct profile *profile = rows->profile;
	uint64_t width = bin_width_ns(profile);
	for (size_t i = 0; i < profile->n_samples; i++) {
		const struct profile_sample *sample = &profile->samples[i];
		size_t row = sample->frame == PROFILE_NONE ? rows->n_rows - 1 : row_of[sample->frame];
		uint64_t weight = sample->weight_ns;
		if (__builtin_add_overflow(model->time_ns, weight, &model->time_ns))
			model->time_ns = UINT64_MAX;
		if (__builtin_add_overflow(rows->rows[row].time_ns, weight, &rows->rows[row].time_ns))
			rows->rows[row].time_ns = UINT64_MAX;
		model->n_samples++;
		rows->rows[row].n_samples++;
		presence[i] = (struct presence){(uint32_t)row, sample->thread,
						sample->time_ns / width, weight};
	}
}

bool model_time(struct model_rows *rows, struct model *model)
{
	size_t n = rows->profile->n_samples;
	uint32_t *row_of = rows_of_frames(rows);
	struct presence *presence = malloc((n + 1) * sizeof(*presence));
	bool done = row_of && presence;
	if (done) {
		add_samples(rows, model, row_of, presence);
		set_concurrency(rows, presence, n);
	}
	for (size_t row = 0; done && row < rows->n_rows; row++) {
		struct model_function *function = &rows->rows[row];
		double time_s = (double)function->time_ns * 1e-9;
		if (function->concurrency < 1)
			function->concurrency = 1;
		function->elapsed_s = time_s / function->concurrency;
		/* n samples of a Poisson process: ± 1.96 √n of them, 95 %. */
		if (function->n_samples)
			function->halfwidth_s = 1.96 * time_s / sqrt((double)function->n_samples);
	}
	free(row_of);
	free(presence);
	return done;
}
