/* Sums up the repeats that a file has. */
#include "sweep/results.h"

#include "base/array.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct figures {
	double *of[N_SWEEP_QUANTITIES];
	size_t n[N_SWEEP_QUANTITIES], cap[N_SWEEP_QUANTITIES];
	size_t repeats;
	double calls;
	bool memory_short;
};

/* Row of a point; not above 0: there is none. */
static struct rf_error *row_of(const struct sweep *sweep, struct store *store, size_t point,
			       int64_t *id)
{
	const struct sweep_point *of = &sweep->points[point];
	*id = of->id;
	return store && of->identity ? store_find(store, of->identity, id) : NULL;
}

static void take_repeat(void *context, const struct repeat *repeat)
{
	struct figures *figures = context;
	const double values[N_SWEEP_QUANTITIES] = {
		[SWEEP_TIME] = repeat->time_s,
		[SWEEP_FLOP] = (double)repeat->flop,
		[SWEEP_LOADED] = (double)repeat->load_bytes,
		[SWEEP_STORED] = (double)repeat->store_bytes,
		[SWEEP_READ] = repeat->mem_read,
		[SWEEP_WRITTEN] = repeat->mem_write,
		[SWEEP_MOVED] = repeat->mem_read + repeat->mem_write,
		[SWEEP_INSTRUCTIONS] = (double)repeat->instructions,
	};
	figures->repeats++;
	figures->calls += (double)repeat->calls;
	for (int q = 0; repeat->calls && q < N_SWEEP_QUANTITIES; q++)
		if (isfinite(values[q]) &&
		    !rf_array_push(figures->of[q], figures->n[q], figures->cap[q],
				   values[q] / (double)repeat->calls))
			figures->memory_short = true;
}

static struct rf_error *take(const struct sweep *sweep, struct store *store, size_t point,
			     const char *kernel, struct figures *figures)
{
	int64_t id;
	struct rf_error *error = row_of(sweep, store, point, &id);
	if (!error && store && id > 0)
		error = store_repeats(store, id, kernel, take_repeat, figures);
	if (!error && figures->memory_short)
		error = rf_error_no_memory();
	return error;
}

/* ---- calls that were timed one by one ---- */

struct call_figures {
	double *times;
	size_t n, cap;
	size_t repeats, last; /* that have some, and the last of them, plus 1 */
	bool memory_short;
};

static void take_call(void *context, size_t repeat, double time_s)
{
	struct call_figures *figures = context;
	figures->repeats += figures->last != repeat + 1;
	figures->last = repeat + 1;
	if (!rf_array_push(figures->times, figures->n, figures->cap, time_s))
		figures->memory_short = true;
}

/* Where all repeats have times of calls, these in place of the means of each repeat. */
static struct rf_error *take_calls(const struct sweep *sweep, struct store *store, size_t point,
				   const char *kernel, struct sweep_result *out)
{
	struct call_figures figures = {0};
	int64_t id;
	struct rf_error *error = row_of(sweep, store, point, &id);
	if (!error && store && id > 0)
		error = store_calls(store, id, kernel, take_call, &figures);
	if (!error && figures.memory_short)
		error = rf_error_no_memory();
	if (!error && figures.n && figures.repeats == out->repeats) {
		out->times_calls = figures.n;
		out->of[SWEEP_TIME].n = figures.n;
		out->of[SWEEP_TIME].per_call = rf_summary(figures.times, figures.n);
	}
	free(figures.times);
	return error;
}

struct rf_error *sweep_result(const struct sweep *sweep, struct store *store, size_t point,
			      const char *kernel, struct sweep_result *out)
{
	struct figures figures = {0};
	*out = (struct sweep_result){0};
	struct rf_error *error = take(sweep, store, point, kernel, &figures);
	out->repeats = figures.repeats;
	out->calls = figures.repeats ? figures.calls / (double)figures.repeats : 0;
	for (int q = 0; q < N_SWEEP_QUANTITIES; q++) {
		out->of[q].n = figures.n[q];
		if (!error && figures.n[q])
			out->of[q].per_call = rf_summary(figures.of[q], figures.n[q]);
		free(figures.of[q]);
	}
	return error ?: take_calls(sweep, store, point, kernel, out);
}

struct rf_error *sweep_times(const struct sweep *sweep, struct store *store, size_t point,
			     const char *kernel, double **times, size_t *n)
{
	struct figures figures = {0};
	struct rf_error *error = take(sweep, store, point, kernel, &figures);
	for (int q = 0; q < N_SWEEP_QUANTITIES; q++)
		if (q != SWEEP_TIME)
			free(figures.of[q]);
	*times = figures.of[SWEEP_TIME];
	*n = figures.n[SWEEP_TIME];
	return error;
}

static void take_metric(void *context, const struct metric *metric)
{
	struct sweep_metrics *out = context;
	const struct {
		const char *name;
		double *value;
	} all[] = {
		{"fp_instructions", &out->fp_instructions},
		{"load_instructions", &out->load_instructions},
		{"store_instructions", &out->store_instructions},
		{"single_flop", &out->single_flop},
		{"l2_bytes", &out->l2_bytes},
		{"l3_bytes", &out->l3_bytes},
		{"l1_miss_ratio", &out->l1_miss_ratio},
		{"l2_miss_ratio", &out->l2_miss_ratio},
		{"l3_miss_ratio", &out->l3_miss_ratio},
		{"mem_left_bytes", &out->mem_left_bytes},
		{"page_accesses", &out->page_accesses},
		{"tlb_near_misses", &out->tlb_near_misses},
		{"page_walks", &out->page_walks},
		{"other_l2_bytes", &out->other_l2_bytes},
		{"other_mem_read_bytes", &out->other_mem_read},
		{"other_mem_write_bytes", &out->other_mem_written},
	};
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (strcmp(metric->name, all[i].name) == 0)
			*all[i].value = metric->value;
}

struct rf_error *sweep_metrics(const struct sweep *sweep, struct store *store, size_t point,
			       const char *kernel, struct sweep_metrics *out)
{
	int64_t id;
	*out = (struct sweep_metrics){NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN,
				      NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
	struct rf_error *error = row_of(sweep, store, point, &id);
	return error || !store || id <= 0 ? error
					  : store_metrics(store, id, kernel, take_metric, out);
}
