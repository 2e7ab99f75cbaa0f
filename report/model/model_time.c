/* Samples → time and concurrency of each function. */
#include "report/model/model_parts.h"

#include "base/array.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A stretch of time of a thread in a function: what one sample stands for. */
struct stay {
	uint32_t row, thread;
	uint64_t start, end;
};

static int compare_starts(const void *a, const void *b)
{
	const struct stay *x = a, *y = b;
	return (x->start > y->start) - (x->start < y->start);
}

static int compare_stays(const void *a, const void *b)
{
	const struct stay *x = a, *y = b;
	if (x->row != y->row)
		return x->row < y->row ? -1 : 1;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return compare_starts(a, b);
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

/* Time that is in at least one of `n` stays, which are sorted by their start. */
static double covered_ns(const struct stay *stays, size_t n)
{
	double covered = 0;
	uint64_t until = 0;
	for (size_t i = 0; i < n; i++) {
		uint64_t start = stays[i].start > until ? stays[i].start : until;
		if (stays[i].end <= start)
			continue;
		covered += (double)(stays[i].end - start);
		until = stays[i].end;
	}
	return covered;
}

/* Concurrency of the `n` stays of a function: threads' time in it, over the time in which at least
 * one is.  Threads that take turns within a sample period count as concurrent: an estimate, from
 * above. Sorts the stays anew. */
static double concurrency_of(struct stay *stays, size_t n)
{
	double sum = 0;
	for (size_t i = 0, of_thread; i < n; i += of_thread) {
		for (of_thread = 1;
		     i + of_thread < n && stays[i + of_thread].thread == stays[i].thread;)
			of_thread++;
		sum += covered_ns(stays + i, of_thread);
	}
	qsort(stays, n, sizeof(*stays), compare_starts);
	double any = covered_ns(stays, n);
	return any > 0 ? sum / any : 1;
}

/* Hardware threads bound the concurrency. */
static void set_concurrency(struct model_rows *rows, struct stay *stays, size_t n)
{
	const char *fact = profile_get_fact(rows->profile, "usable_threads");
	double limit = fact ? strtod(fact, NULL) : 0;
	qsort(stays, n, sizeof(*stays), compare_stays);
	for (size_t i = 0, of_row; i < n; i += of_row) {
		uint32_t row = stays[i].row;
		for (of_row = 1; i + of_row < n && stays[i + of_row].row == row;)
			of_row++;
		double c = concurrency_of(stays + i, of_row);
		rows->rows[row].concurrency = limit >= 1 && c > limit ? limit : c;
	}
}

/* What one sample added to the program's own time, in ns. */
uint64_t model_sample_cost(const struct profile *profile)
{
	const char *fact = profile_get_fact(profile, "sample_cost_ns");
	double cost = fact ? strtod(fact, NULL) : 0;
	return cost > 0 && cost < 1e9 ? (uint64_t)cost : 0;
}

uint64_t model_sample_weight(const struct profile_sample *sample, uint64_t cost)
{
	/* no more than half, so that absurd figures leave a time to divide by */
	uint64_t stay = sample->weight_ns;
	return stay - (cost < stay / 2 ? cost : stay / 2);
}

static void add_ns(uint64_t *sum, uint64_t ns)
{
	if (__builtin_add_overflow(*sum, ns, sum))
		*sum = UINT64_MAX;
}

/* Adds to the part of the uncounted time that has this cause.  False: no memory. */
static bool add_uncounted(struct model *model, const struct model_uncounted *cause, uint64_t n,
			  uint64_t ns)
{
	size_t i = 0;
	while (i < model->n_uncounted && (strcmp(model->uncounted[i].kind, cause->kind) != 0 ||
					  strcmp(model->uncounted[i].name, cause->name) != 0 ||
					  strcmp(model->uncounted[i].reason, cause->reason) != 0))
		i++;
	if (i == model->n_uncounted &&
	    !rf_array_push(model->uncounted, model->n_uncounted, model->cap_uncounted, *cause))
		return false;
	model->uncounted[i].n_samples += n;
	add_ns(&model->uncounted[i].time_ns, ns);
	add_ns(&model->uncounted_ns, ns);
	return true;
}

static int compare_uncounted(const void *a, const void *b)
{
	const struct model_uncounted *x = a, *y = b;
	int order = (x->time_ns < y->time_ns) - (x->time_ns > y->time_ns);
	order = order ? order : strcmp(x->kind, y->kind);
	order = order ? order : strcmp(x->name, y->name);
	return order ? order : strcmp(x->reason, y->reason);
}

/* The process's part, of `n` samples.  `uncounted`: 0, or their weight. */
static void add_to_process(const struct model_threads *threads, struct model *model,
			   uint32_t thread, uint64_t n, uint64_t weight, uint64_t uncounted)
{
	uint32_t row = threads->process_of[thread];
	if (row == PROFILE_NONE)
		return;
	struct model_process *process = &model->processes[threads->shown[row]];
	process->n_samples += n;
	add_ns(&process->time_ns, weight);
	add_ns(&process->uncounted_ns, uncounted);
}

/* `n` samples of a thread in the place `*row`, of that weight together; *row becomes the row that
 * they belong to. `known`: whether they are uncounted, where that has been found out already, or
 * NULL. */
static bool add_stay(struct model_rows *rows, const struct model_threads *threads,
		     struct model *model, const struct profile_sum_time *stay, const bool *known,
		     size_t *row, bool *uncounted)
{
	struct model_uncounted cause = {0};
	*uncounted =
		known ? *known
		      : model->counted && model_is_uncounted(threads, *row, stay->thread, &cause);
	if (*uncounted && !known && !add_uncounted(model, &cause, stay->samples, stay->time_ns))
		return false;
	*row = model_row_of_thread(rows, *row, stay->thread);
	if (*uncounted && rows->rows[*row].tally.instructions > 0) {
		rows->has_part[*row] = true;
		*row += rows->n_places;
	}
	add_to_process(threads, model, stay->thread, stay->samples, stay->time_ns,
		       *uncounted ? stay->time_ns : 0);
	add_ns(&model->time_ns, stay->time_ns);
	add_ns(&rows->rows[*row].time_ns, stay->time_ns);
	model->n_samples += stay->samples;
	rows->rows[*row].n_samples += stay->samples;
	return true;
}

static bool add_samples(struct model_rows *rows, const struct model_threads *threads,
			struct model *model, const uint32_t *row_of, struct stay *stays)
{
	const struct profile *profile = rows->profile;
	uint64_t cost = model_sample_cost(profile);
	for (size_t i = 0; i < profile->n_samples; i++) {
		const struct profile_sample *sample = &profile->samples[i];
		const bool *known = rows->groups ? rows->groups->uncounted : NULL;
		const struct profile_sum_time one = {.thread = sample->thread,
						     .samples = 1,
						     .time_ns = model_sample_weight(sample, cost)};
		size_t row =
			sample->frame == PROFILE_NONE ? rows->n_places - 1 : row_of[sample->frame];
		if (!add_stay(rows, threads, model, &one, known ? &known[i] : NULL, &row,
			      &model->uncounted_samples[i]))
			return false;
		uint64_t end = sample->time_ns, stay = sample->weight_ns;
		stays[i] = (struct stay){(uint32_t)row, sample->thread, end > stay ? end - stay : 0,
					 end};
	}
	return true;
}

/* The same from sums, which have the concurrency already (model_count_sums). */
static bool add_sums(struct model_rows *rows, const struct model_threads *threads,
		     struct model *model)
{
	const struct profile *profile = rows->profile;
	bool uncounted, done = true;
	for (size_t i = 0; done && i < profile->n_sum_times; i++) {
		size_t row = model_row_of_sum(rows, profile->sum_times[i].sum);
		done = add_stay(rows, threads, model, &profile->sum_times[i], NULL, &row,
				&uncounted);
	}
	return done;
}

static bool add_all_samples(struct model_rows *rows, const struct model_threads *threads,
			    struct model *model)
{
	const size_t n = rows->profile->n_samples;
	uint32_t *row_of = rows_of_frames(rows);
	struct stay *stays = malloc((n + 1) * sizeof(*stays));
	const bool done = row_of && stays && add_samples(rows, threads, model, row_of, stays);
	if (done)
		set_concurrency(rows, stays, n);
	free(row_of);
	free(stays);
	return done;
}

bool model_time(struct model_rows *rows, const struct model_threads *threads, struct model *model)
{
	model->uncounted_samples =
		calloc(rows->profile->n_samples + 1, sizeof(*model->uncounted_samples));
	const bool done =
		model->uncounted_samples && (rows->sums ? add_sums(rows, threads, model)
							: add_all_samples(rows, threads, model));
	if (model->n_uncounted)
		qsort(model->uncounted, model->n_uncounted, sizeof(*model->uncounted),
		      compare_uncounted);
	for (size_t row = 0; done && row < rows->n_rows; row++) {
		struct model_function *function = &rows->rows[row];
		if (!model_is_used(rows, row))
			continue;
		double time_s = (double)function->time_ns * 1e-9;
		if (function->concurrency < 1)
			function->concurrency = 1;
		function->elapsed_s = time_s / function->concurrency;
		/* n samples of a Poisson process: ± 1.96 √n of them, 95 %. */
		if (function->n_samples)
			function->halfwidth_s = 1.96 * time_s / sqrt((double)function->n_samples);
	}
	return done;
}
