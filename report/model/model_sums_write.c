/* Writes the sums of rows into a profile's tables of sums. */
#include "report/model/model_sums_write.h"

#include "base/array.h"
#include "base/search.h"
#include "report/model/model_runs.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct writer {
	const struct model_rows *rows;
	const struct model *model;
	struct profile *profile;
	uint32_t *sum_of; /* per row, or PROFILE_NONE */
};

/* Adds a row to one of the profile's tables. */
#define push(profile, table, row) \
	rf_array_add((profile)->table, (profile)->n_##table, (profile)->cap_##table, row)

/* Its figures are then those of the row. */
static bool has_one_thread(const struct model_function *function)
{
	const struct tally *tally = &function->tally;
	const struct profile_sum_thread *thread = function->threads;
	return function->n_threads == 1 && thread->flop == tally->flop &&
	       thread->load_bytes == tally->load_bytes &&
	       thread->store_bytes == tally->store_bytes &&
	       thread->instructions == tally->instructions;
}

/* Finds or adds the sum of a row. */
static struct rf_error *sum_of_row(struct writer *writer, size_t row, uint32_t *out)
{
	const struct model_rows *rows = writer->rows;
	struct profile *profile = writer->profile;
	const size_t place = row % rows->n_places;
	const struct model_function *function = &rows->rows[row];
	const struct tally *tally = &function->tally;
	const bool named = place < rows->n_named, nowhere = place == rows->n_places - 1;
	*out = writer->sum_of[row];
	if (*out != PROFILE_NONE)
		return NULL;
	*out = writer->sum_of[row] = (uint32_t)profile->n_sums;
	const struct profile_sum sum = {
		.function = named ? (uint32_t)place : PROFILE_NONE,
		.module = named || nowhere ? PROFILE_NONE : (uint32_t)(place - rows->n_named),
		.thread = has_one_thread(function) ? function->threads[0].thread : PROFILE_NONE,
		.uncounted = row >= rows->n_places,
		.concurrency = function->concurrency,
#define WRITE_COUNT(name) .name = tally->name,
		TALLY_COUNTS(WRITE_COUNT)
#undef WRITE_COUNT
	};
	return push(profile, sums, sum);
}

static struct rf_error *write_flop(struct profile *profile, uint32_t sum, const struct tally *tally)
{
	struct rf_error *error = NULL;
	for (uint32_t k = 0; k < FLOP_KINDS; k++)
		for (uint32_t p = 0; p < FLOP_PRECISIONS; p++)
			for (uint32_t w = 0; !error && w < FLOP_WIDTHS; w++) {
				const struct profile_sum_flop row = {sum, k, p, w,
								     tally->flop_by_kind[k][p][w]};
				error = row.flop ? push(profile, sum_flop, row) : NULL;
			}
	return error;
}

static struct rf_error *write_classes(struct profile *profile, uint32_t sum,
				      const struct tally *tally)
{
	struct profile_sum_classes row = {.sum = sum};
	memcpy(row.instructions, tally->class_instructions, sizeof(row.instructions));
	return push(profile, sum_classes, row);
}

/* What the code shows, if anything. */
static struct rf_error *write_code(struct profile *profile, uint32_t sum,
				   const struct profile_sum_code *code)
{
	static const struct profile_sum_code nothing;
	struct profile_sum_code row = *code;
	row.sum = 0;
	if (memcmp(&row, &nothing, sizeof(row)) == 0)
		return NULL;
	row.sum = sum;
	return push(profile, sum_code, row);
}

/* The first counter of a quantity stands for it. */
static uint32_t counter_of(const struct profile *profile, const char *quantity)
{
	uint32_t i = 0;
	while (i + 1 < profile->n_counters && strcmp(profile->counters[i].quantity, quantity) != 0)
		i++;
	return i;
}

static struct rf_error *write_quantities(struct writer *writer, uint32_t sum,
					 const struct model_function *function)
{
	struct profile *profile = writer->profile;
	struct rf_error *error = NULL;
	for (size_t i = 0; !error && function->quantities && i < writer->model->n_quantities; i++) {
		const struct model_quantity *quantity = &function->quantities[i];
		const struct profile_sum_quantity row = {.sum = sum,
							 .counter = counter_of(profile,
									       quantity->name),
							 .samples = quantity->samples,
							 .value = quantity->value,
							 .events = quantity->events,
							 .variance = quantity->variance};
		error = push(profile, sum_quantities, row);
	}
	return error;
}

/* A file can claim any number. */
static uint64_t whole(double count)
{
	return count < 0x1p63 ? (uint64_t)count : INT64_MAX;
}

/* Adds the rows of a list to a table, as rows of that sum. */
#define WRITE_LIST(table, list, n)                                        \
	for (size_t i = 0; !error && i < (n); i++) {                      \
		error = push(profile, table, (list)[i]);                  \
		if (!error)                                               \
			profile->table[profile->n_##table - 1].sum = sum; \
	}

static struct rf_error *write_threads(struct profile *profile, uint32_t sum,
				      const struct model_function *function)
{
	struct rf_error *error = NULL;
	WRITE_LIST(sum_threads, function->threads,
		   has_one_thread(function) ? 0 : function->n_threads)
	return error;
}

/* Of what moved, all but the lines. */
static struct rf_error *write_traffic(struct profile *profile, uint32_t sum,
				      const struct model_traffic *traffic)
{
	const struct model_strides *s = &traffic->strides;
	const struct profile_sum_stride stride = {sum,
						  whole(s->unit),
						  whole(s->constant),
						  whole(s->random),
						  whole(s->fetched),
						  whole(s->used),
						  s->step};
	const bool strides = s->unit + s->constant + s->random + s->fetched + s->used != 0;
	struct rf_error *error = strides ? push(profile, sum_strides, stride) : NULL;
	for (uint32_t level = 0; level < MODEL_LEVELS && !error; level++) {
		const struct model_irregular *at = &traffic->irregular[level];
		const struct profile_sum_irregular row = {sum, level, at->lines, at->chained,
							  at->longest};
		if (at->lines > 0)
			error = push(profile, sum_irregular, row);
	}
	WRITE_LIST(sum_objects, traffic->objects, traffic->n_objects)
	WRITE_LIST(sum_working_sets, traffic->capacities, traffic->n_capacities)
	return error;
}

static bool is_empty(const struct model_function *function)
{
	static const struct tally none;
	return function->n_samples == 0 && !function->quantities &&
	       memcmp(&function->tally, &none, sizeof(none)) == 0;
}

static struct rf_error *write_row(struct writer *writer, size_t row)
{
	const struct model_function *function = &writer->rows->rows[row];
	struct profile *profile = writer->profile;
	uint32_t sum;
	if (!model_is_used(writer->rows, row) || is_empty(function))
		return NULL;
	/* of a rank all: another one may have samples there */
	const bool told = function->n_samples || profile_get_fact(profile, "rank");
	const bool classes = told && function->tally.instructions;
	return sum_of_row(writer, row, &sum) ?: write_flop(profile, sum, &function->tally)
	       ?: (classes ? write_classes(profile, sum, &function->tally) : NULL)
	       ?: write_code(profile, sum, &function->code)
	       ?: write_threads(profile, sum, function) ?: write_quantities(writer, sum, function)
	       ?: (function->traffic ? write_traffic(profile, sum, function->traffic) : NULL);
}

static int compare_times(const void *a, const void *b)
{
	const struct profile_sum_time *x = a, *y = b;
	return rf_compare(x->sum, y->sum) ?: rf_compare(x->thread, y->thread);
}

/* By place, whether it was counted or not: that follows from the thread, and from when it was. */
static struct rf_error *write_times(struct writer *writer)
{
	struct profile *profile = writer->profile;
	struct rf_error *error = NULL;
	for (size_t i = 0; !error && i < writer->rows->n_times; i++) {
		const struct model_time_sum *time = &writer->rows->times[i];
		struct profile_sum_time row = {.thread = time->thread,
					       .samples = time->samples,
					       .time_ns = time->time_ns,
					       .native_ns = time->native_ns};
		error = sum_of_row(writer, time->row, &row.sum) ?: push(profile, sum_times, row);
	}
	if (profile->n_sum_times)
		qsort(profile->sum_times, profile->n_sum_times, sizeof(*profile->sum_times),
		      compare_times);
	return error;
}

/* The time of a place in each run. */
static struct rf_error *write_run_times(struct writer *writer)
{
	const struct model_rows *rows = writer->rows;
	const size_t n = rows->profile->n_timed_runs;
	struct rf_error *error = NULL;
	for (size_t i = 0; !error && rows->run_times && i < rows->n_places * n; i++) {
		const struct model_run_time *time = &rows->run_times[i];
		struct profile_sum_run_time row = {.timed_run = (uint32_t)(i % n),
						   .samples = time->samples,
						   .time_ns = time->time_ns};
		if (time->samples)
			error = sum_of_row(writer, i / n, &row.sum)
					?: push(writer->profile, sum_run_times, row);
	}
	return error;
}

static struct rf_error *write_lines(struct writer *writer)
{
	struct rf_error *error = NULL;
	for (size_t place = 0; !error && place < writer->rows->n_places; place++) {
		const struct packed_lines *packed = &writer->rows->lines[place];
		struct profile_sum_traffic row = {.size = packed->size};
		if (!packed->bytes)
			continue;
		error = sum_of_row(writer, place, &row.sum);
		row.lines = error ? NULL : malloc(row.size);
		if (error || !row.lines)
			return error ? error : rf_error_no_memory();
		memcpy(row.lines, packed->bytes, row.size);
		error = push(writer->profile, sum_traffic, row);
		if (error)
			free(row.lines);
	}
	return error;
}

static void clear_sums(struct profile *profile)
{
	for (size_t i = 0; i < profile->n_sum_traffic; i++)
		free(profile->sum_traffic[i].lines);
	profile->n_sums = profile->n_sum_classes = profile->n_sum_flop = profile->n_sum_threads =
		profile->n_sum_times = profile->n_sum_run_times = 0;
	profile->n_sum_traffic = profile->n_sum_objects = profile->n_sum_strides = 0;
	profile->n_sum_irregular = profile->n_sum_code = 0;
	profile->n_sum_working_sets = profile->n_sum_quantities = 0;
	profile->has_sums = false;
}

static void set_facts(const struct model *model, struct profile *profile)
{
	profile_set_fact(profile, PROFILE_SUMS_FACT, PROFILE_SUMS_VERSION);
	if (model->unreadable_blocks)
		profile_set_fact(profile, "unreadable_blocks", "%zu", model->unreadable_blocks);
	if (model->unmatched_units)
		profile_set_fact(profile, "unmatched_units", "%zu", model->unmatched_units);
}

struct rf_error *model_write_sums(const struct model_rows *rows, const struct model *model,
				  struct profile *profile)
{
	struct writer writer = {rows, model, profile,
				malloc((rows->n_rows + 1) * sizeof(*writer.sum_of))};
	struct rf_error *error = writer.sum_of ? NULL : rf_error_no_memory();
	assert(!rows->groups && !rows->saved);
	clear_sums(profile);
	if (!error)
		memset(writer.sum_of, 0xff, rows->n_rows * sizeof(*writer.sum_of));
	for (size_t row = 0; !error && row < rows->n_rows; row++)
		error = write_row(&writer, row);
	error = error ?: write_times(&writer) ?: write_run_times(&writer) ?: write_lines(&writer);
	free(writer.sum_of);
	if (error) {
		clear_sums(profile);
		return error;
	}
	set_facts(model, profile);
	profile->has_sums = profile->n_sums > 0;
	return NULL;
}
