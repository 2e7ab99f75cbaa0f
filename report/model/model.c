/* Functions out of a profile: the order of the steps.
 *
 * Sums come first (model_rows.h): they are made from what the profile has of blocks, counters,
 * traffic and samples, or read where it has them.  From the sums follow bytes at each level, the
 * processes and the times; and with the roofs the place of each row. */
#include "report/model/model.h"

#include "base/parallel.h"
#include "profile/roof_index.h"
#include "report/model/model_code.h"
#include "report/model/model_count.h"
#include "report/model/model_counters.h"
#include "report/model/model_loops.h"
#include "report/model/model_mix.h"
#include "report/model/model_place.h"
#include "report/model/model_processes.h"
#include "report/model/model_roofs.h"
#include "report/model/model_rows.h"
#include "report/model/model_samples.h"
#include "report/model/model_sums_read.h"
#include "report/model/model_sums_write.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_ROWS 4000 /* for which a thread is worth while */

/* The precision with most flop; double where there is no flop at all. */
static enum flop_precision main_precision(const struct tally *tally)
{
	enum flop_precision best = PRECISION_DOUBLE;
	for (int p = 0; tally->flop && p < FLOP_PRECISIONS; p++)
		if (model_flop_of_precision(tally, p) > model_flop_of_precision(tally, best))
			best = (enum flop_precision)p;
	return best;
}

static void derive(const struct model *model, struct model_function *function)
{
	const struct tally *tally = &function->tally;
	double bytes = (double)tally->load_bytes + (double)tally->store_bytes;
	function->precision = main_precision(tally);
	function->intensity = tally->flop == 0 ? 0
			      : bytes == 0     ? INFINITY
					       : (double)tally->flop / bytes;
	function->share = model->time_ns ? (double)function->time_ns / (double)model->time_ns : 0;
}

static struct rf_error *finish_row(struct model_rows *rows, size_t row, const struct model *model)
{
	struct model_function *function = &rows->rows[row];
	if (!model_is_told(rows, row))
		return NULL;
	struct rf_error *error = model_name_row(rows, row);
	derive(model, function);
	function->waits = model_waits(rows->profile, function);
	if (function->traffic)
		model_trace_rates(rows->profile, &rows->choice, function);
	model_place(rows->profile, &rows->choice, function, model->counted);
	return error;
}

struct finish {
	struct model_rows *rows;
	const struct model *model;
	size_t n_parts;
};

static struct rf_error *finish_part(size_t part, void *context)
{
	const struct finish *finish = context;
	const size_t n = finish->rows->n_rows;
	struct rf_error *error = NULL;
	for (size_t row = part; !error && row < n; row += finish->n_parts)
		error = finish_row(finish->rows, row, finish->model);
	return error;
}

/* Names and places the rows that did something: each by itself, and so by several threads. */
static struct rf_error *finish_rows(struct model_rows *rows, struct model *model)
{
	struct finish finish = {rows, model, parallel_parts(rows->n_rows, LEAST_ROWS)};
	return parallel_run(finish.n_parts, finish_part, &finish);
}

static void free_lists(struct model *model)
{
	free(model->process_of_thread);
	free(model->twin_of_thread);
	free(model->uncounted_samples);
	free(model->sample_ns);
	free(model->loop_code);
	free(model->processes);
	free(model->uncounted);
	free(model->quantities);
}

/* Profiles without processes have nothing that tells threads of the two runs apart but the order of
 * birth. */
static void pair_threads(const struct profile *profile, uint32_t *twins)
{
	uint32_t next[2] = {0, 0}; /* RUN_TIMED, RUN_COUNTED */
	for (;;) {
		for (int run = 0; run < 2; run++)
			while (next[run] < profile->n_threads &&
			       profile->threads[next[run]].run != (run ? RUN_COUNTED : RUN_TIMED))
				next[run]++;
		if (next[0] >= profile->n_threads || next[1] >= profile->n_threads)
			return;
		twins[next[0]] = next[1];
		twins[next[1]++] = next[0];
		next[0]++;
	}
}

static bool has_counts(const struct profile *profile)
{
	const char *source = profile_get_fact(profile, "work_source");
	return profile->n_counts > 0 || profile->n_sum_threads > 0 ||
	       (source && strcmp(source, "none") != 0);
}

/* Makes the sums of the rows: what is counted comes first, since by that it is told which of the
 * time was not. */
static struct rf_error *sum_up(struct model_rows *rows, const struct model_threads *threads,
			       struct model *model)
{
	struct rf_error *error = model_count(rows, model) ?: model_sum_counters(rows, model);
	if (!error && model->traced)
		error = model_create_traffic(rows) ?: model_sum_moved(rows, model);
	return error ?: model_sum_samples(rows, threads, model);
}

/* All but names and places: the sums, be they made or read, and what follows from them. */
static struct rf_error *fill_rows(struct model_rows *rows, struct model_threads *threads,
				  struct model *model)
{
	const struct profile *profile = rows->profile;
	model->counted = has_counts(profile);
	model_set_traced(profile, model);
	model->uncounted_samples =
		calloc(profile->n_samples + 1, sizeof(*model->uncounted_samples));
	if (!model->uncounted_samples)
		return rf_error_no_memory();
	struct rf_error *error =
		model_threads_init(threads, rows) ?: model_quantities(rows, model)
		?: (rows->saved ? model_read_sums : sum_up)(rows, threads, model)
		?: model_memory(rows, model) ?: model_processes(threads, model);
	if (!error)
		model_time(rows, threads, model);
	return error;
}

struct rf_error *model_summarise(struct profile *profile)
{
	struct model_rows rows;
	struct model model = {0};
	struct model_threads threads = {0};
	struct rf_error *error = model_rows_init(&rows, profile, &(struct model_choice){0})
					 ?: fill_rows(&rows, &threads, &model)
					 ?: model_find_loops(&rows, &model)
					 ?: model_write_sums(&rows, &model, profile);
	model_threads_deinit(&threads);
	free_lists(&model);
	model_rows_deinit(&rows);
	return error;
}

/* Takes what the report needs to know of the threads. */
static void take_threads(const struct profile *profile, struct model_threads *threads,
			 struct model *model)
{
	model->process_of_thread = threads->process_of;
	model->twin_of_thread = threads->twin_thread;
	threads->process_of = threads->twin_thread = NULL;
	if (profile->n_processes == 0)
		pair_threads(profile, model->twin_of_thread);
}

/* What code does on average, for functions that are so short that others are under way with them.
 */
static void set_program(struct model *model)
{
	const struct model_estimate *events = model->bytes.events;
	double instructions = 0;
	for (size_t i = 0; i < model->n_functions; i++)
		instructions += (double)model->functions[i].tally.instructions;
	const double lines =
		(events[TRAFFIC_L2_READ].bytes + events[TRAFFIC_L2_WRITE_ALLOCATE].bytes) /
		CACHE_LINE;
	for (size_t i = 0; i < model->n_functions; i++) {
		struct model_traffic *traffic = model->functions[i].traffic;
		if (traffic) {
			traffic->program_instructions = instructions;
			traffic->program_lines = lines;
		}
	}
}

struct rf_error *model_build_as(const struct profile *profile, const struct model_choice *choice,
				struct model *out)
{
	struct model_rows rows;
	struct model model = {0};
	struct model_threads threads = {0};
	struct rf_error *error =
		profile->roof_index
			? roof_index_refresh(profile->roof_index, profile->roofs, profile->n_roofs)
			: NULL;
	if (error)
		return error;
	error = model_rows_init(&rows, profile, choice) ?: fill_rows(&rows, &threads, &model)
			?: (rows.groups || rows.saved ? NULL : model_find_loops(&rows, &model))
			?: finish_rows(&rows, &model);
	if (!error) {
		take_threads(profile, &threads, &model);
		model_take_rows(&rows, &model);
		set_program(&model);
		*out = model;
	} else {
		free_lists(&model);
	}
	model_threads_deinit(&threads);
	model_rows_deinit(&rows);
	return error;
}

struct rf_error *model_build(const struct profile *profile, struct model *out)
{
	return model_build_as(profile, &(struct model_choice){0}, out);
}

void model_deinit(struct model *model)
{
	for (size_t i = 0; i < model->n_functions; i++)
		model_function_deinit(&model->functions[i]);
	free(model->functions);
	free_lists(model);
	*model = (struct model){0};
}

static const char *const kind_names[FLOP_KINDS] = {"add", "mul", "fma", "div", "sqrt", "other"};
static const char *const precision_names[FLOP_PRECISIONS] = {"half", "bfloat16", "single", "double",
							     "x87"};
static const char *const width_names[FLOP_WIDTHS] = {"scalar", "128", "256", "512", "tile"};

void model_kind_name(int kind, int precision, int width, char *buffer, size_t size)
{
	snprintf(buffer, size, "%s_%s_%s", kind_names[kind], precision_names[precision],
		 width_names[width]);
}

const char *model_precision_name(enum flop_precision precision)
{
	return precision_names[precision];
}
