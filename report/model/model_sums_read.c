/* Reads the sums of rows from a profile's tables of sums, so that a report need not read every
 * block, sample and line again. */
#include "report/model/model_sums_read.h"

#include "base/array.h"
#include "base/search.h"
#include "report/model/model_counters.h"
#include "report/model/model_runs.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Row of the place of a sum. */
static size_t row_of_sum(const struct model_rows *rows, uint32_t sum)
{
	assert(sum < rows->profile->n_sums);
	const struct profile_sum *s = &rows->profile->sums[sum];
	if (s->function != PROFILE_NONE)
		return s->function;
	return rows->n_named + (s->module != PROFILE_NONE ? s->module : rows->profile->n_modules);
}

static struct model_function *function_of(const struct model_rows *rows, uint32_t sum)
{
	return &rows->rows[row_of_sum(rows, sum)];
}

static struct rf_error *read_thread(struct model_rows *rows, const struct profile_sum_thread *row)
{
	struct model_function *function = function_of(rows, row->sum);
	struct profile_sum_thread *thread = model_thread_of(function, row->thread);
	if (!thread)
		return rf_error_no_memory();
	*thread = *row;
	return NULL;
}

/* Where one thread did all of the work, the sum itself says so. */
static struct rf_error *read_threads(struct model_rows *rows)
{
	const struct profile *profile = rows->profile;
	struct rf_error *error = NULL;
	for (uint32_t i = 0; !error && i < profile->n_sums; i++) {
		const struct profile_sum *sum = &profile->sums[i];
		const struct profile_sum_thread only = {i,
							sum->thread,
							sum->flop,
							sum->load_bytes,
							sum->store_bytes,
							sum->instructions};
		if (sum->thread != PROFILE_NONE)
			error = read_thread(rows, &only);
	}
	for (size_t i = 0; !error && i < profile->n_sum_threads; i++)
		error = read_thread(rows, &profile->sum_threads[i]);
	return error;
}

static size_t count_of(const struct profile *profile, const char *fact)
{
	return (size_t)fmin(fmax(profile_number_fact(profile, fact, 0), 0), 0x1p62);
}

static struct rf_error *read_work(struct model_rows *rows, struct model *model)
{
	const struct profile *profile = rows->profile;
	for (uint32_t i = 0; i < profile->n_sums; i++) {
		const struct profile_sum *sum = &profile->sums[i];
		const size_t row = row_of_sum(rows, i);
		rows->has_part[row] |= sum->uncounted;
		rows->rows[row + (sum->uncounted ? rows->n_places : 0)].concurrency =
			sum->concurrency;
		if (!sum->uncounted) {
#define READ_COUNT(name) rows->rows[row].tally.name = sum->name;
			TALLY_COUNTS(READ_COUNT)
#undef READ_COUNT
		}
	}
	for (size_t i = 0; i < profile->n_sum_flop; i++) {
		const struct profile_sum_flop *row = &profile->sum_flop[i];
		struct tally *tally = &function_of(rows, row->sum)->tally;
		tally->flop_by_kind[row->kind][row->precision][row->width] = row->flop;
	}
	for (size_t i = 0; i < profile->n_sum_classes; i++) {
		const struct profile_sum_classes *row = &profile->sum_classes[i];
		memcpy(function_of(rows, row->sum)->tally.class_instructions, row->instructions,
		       sizeof(row->instructions));
	}
	for (size_t i = 0; i < profile->n_sum_code; i++)
		function_of(rows, profile->sum_code[i].sum)->code = profile->sum_code[i];
	model->unreadable_blocks = count_of(profile, "unreadable_blocks");
	model->unmatched_units = count_of(profile, "unmatched_units");
	return read_threads(rows);
}

static struct rf_error *read_quantities(struct model_rows *rows, const struct model *model)
{
	const struct profile *profile = rows->profile;
	for (size_t i = 0; i < profile->n_sum_quantities; i++) {
		const struct profile_sum_quantity *sum = &profile->sum_quantities[i];
		struct model_quantity *quantity =
			model_quantity_of(rows, model, row_of_sum(rows, sum->sum), sum->counter);
		if (!quantity)
			return rf_error_no_memory();
		quantity->value = sum->value;
		quantity->events = sum->events;
		quantity->samples = sum->samples;
		quantity->variance = sum->variance;
	}
	return NULL;
}

/* Where a sum has two rows of lines, as no recording has, the last holds. */
static void read_lines(struct model_rows *rows)
{
	for (size_t i = 0; i < rows->profile->n_sum_traffic; i++) {
		const struct profile_sum_traffic *row = &rows->profile->sum_traffic[i];
		rows->lines[row_of_sum(rows, row->sum)] =
			(struct packed_lines){row->lines, row->size};
	}
}

/* Adds the rows of a table of sums to a list of the traffic that they are of. */
#define READ_LIST(table, list)                                                              \
	for (size_t i = 0; !error && i < rows->profile->n_##table; i++) {                   \
		struct model_traffic *traffic =                                             \
			function_of(rows, rows->profile->table[i].sum)->traffic;            \
		if (traffic)                                                                \
			error = rf_array_add(traffic->list, traffic->n_##list,              \
					     traffic->cap_##list, rows->profile->table[i]); \
	}

static struct rf_error *read_moved(struct model_rows *rows)
{
	struct rf_error *error = model_create_traffic(rows);
	read_lines(rows);
	for (size_t i = 0; !error && i < rows->profile->n_sum_strides; i++) {
		const struct profile_sum_stride *row = &rows->profile->sum_strides[i];
		struct model_traffic *traffic = function_of(rows, row->sum)->traffic;
		if (traffic)
			traffic->strides = (struct model_strides){.unit = (double)row->unit,
								  .constant = (double)row->constant,
								  .random = (double)row->random,
								  .step = row->step,
								  .fetched = (double)row->fetched,
								  .used = (double)row->used};
	}
	for (size_t i = 0; !error && i < rows->profile->n_sum_irregular; i++) {
		const struct profile_sum_irregular *row = &rows->profile->sum_irregular[i];
		struct model_traffic *traffic = function_of(rows, row->sum)->traffic;
		if (traffic)
			traffic->irregular[row->level] =
				(struct model_irregular){row->lines, row->chained, row->longest};
	}
	READ_LIST(sum_objects, objects)
	READ_LIST(sum_working_sets, capacities)
	return error;
}

static struct rf_error *read_times(struct model_rows *rows)
{
	const struct profile *profile = rows->profile;
	rows->times = calloc(profile->n_sum_times + 1, sizeof(*rows->times));
	if (!rows->times)
		return rf_error_no_memory();
	rows->n_times = profile->n_sum_times;
	for (size_t i = 0; i < rows->n_times; i++) {
		const struct profile_sum_time *sum = &profile->sum_times[i];
		rows->times[i] =
			(struct model_time_sum){.row = (uint32_t)row_of_sum(rows, sum->sum),
						.thread = sum->thread,
						.samples = sum->samples,
						.time_ns = sum->time_ns,
						.native_ns = sum->native_ns};
	}
	return NULL;
}

static struct rf_error *read_run_times(struct model_rows *rows)
{
	const struct profile *profile = rows->profile;
	const size_t n = profile->n_timed_runs;
	if (!profile->n_sum_run_times)
		return NULL;
	rows->run_times = calloc(rows->n_places * n, sizeof(*rows->run_times));
	for (size_t i = 0; rows->run_times && i < profile->n_sum_run_times; i++) {
		const struct profile_sum_run_time *sum = &profile->sum_run_times[i];
		rows->run_times[row_of_sum(rows, sum->sum) * n + sum->timed_run] =
			(struct model_run_time){sum->samples, sum->time_ns};
	}
	return rows->run_times ? NULL : rf_error_no_memory();
}

struct rf_error *model_read_sums(struct model_rows *rows, const struct model_threads *threads,
				 struct model *model)
{
	assert(rows->saved && rows->profile->has_sums && !rows->groups);
	return read_work(rows, model) ?: read_quantities(rows, model)
	       ?: (model->traced ? read_moved(rows) : NULL)
	       ?: read_times(rows) ?: read_run_times(rows) ?: model_find_uncounted(rows, threads, model);
}
