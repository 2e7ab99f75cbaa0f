/* Sums by function: made once when a profile is recorded, and read instead of blocks, samples and
 * traffic where functions are all that is asked for.  Every step of the model has its slow twin,
 * which reads these. */
#include "report/model/model_parts.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

struct summer {
	const struct model_rows *rows;
	const struct model *model;
	struct profile *profile;
	uint32_t *sum_of; /* per row, or PROFILE_NONE */
};

/* ---- from sums ---- */

size_t model_row_of_sum(const struct model_rows *rows, uint32_t sum)
{
	const struct profile_sum *s = &rows->profile->sums[sum];
	if (s->function != PROFILE_NONE)
		return s->function;
	return rows->n_named + (s->module != PROFILE_NONE ? s->module : rows->profile->n_modules);
}

static void take_tally(const struct profile_sum *sum, struct tally *tally)
{
	tally->flop = sum->flop;
	tally->flop_unmasked = sum->flop_unmasked;
	tally->load_bytes = sum->load_bytes;
	tally->store_bytes = sum->store_bytes;
	tally->nt_store_bytes = sum->nt_store_bytes;
	tally->string_bytes = sum->string_bytes;
	tally->loads = sum->loads;
	tally->stores = sum->stores;
	tally->instructions = sum->instructions;
}

static bool take_threads(struct model_rows *rows)
{
	const struct profile *profile = rows->profile;
	for (uint32_t i = 0; i < profile->n_sums; i++) {
		const struct profile_sum *sum = &profile->sums[i];
		struct model_function *function = &rows->rows[model_row_of_sum(rows, i)];
		struct model_thread *thread =
			sum->thread == PROFILE_NONE ? NULL : model_thread_of(function, sum->thread);
		if (sum->thread == PROFILE_NONE)
			continue;
		if (!thread)
			return false;
		*thread = (struct model_thread){.thread = sum->thread,
						.flop = sum->flop,
						.load_bytes = sum->load_bytes,
						.store_bytes = sum->store_bytes,
						.instructions = sum->instructions};
	}
	for (size_t i = 0; i < profile->n_sum_threads; i++) {
		const struct profile_sum_thread *row = &profile->sum_threads[i];
		struct model_thread *thread =
			model_thread_of(&rows->rows[model_row_of_sum(rows, row->sum)], row->thread);
		if (!thread)
			return false;
		*thread = (struct model_thread){.thread = row->thread,
						.flop = row->flop,
						.load_bytes = row->load_bytes,
						.store_bytes = row->store_bytes,
						.instructions = row->instructions};
	}
	return true;
}

static size_t count_fact(const struct profile *profile, const char *key)
{
	const char *text = profile_get_fact(profile, key);
	return text ? strtoul(text, NULL, 10) : 0;
}

bool model_count_sums(struct model_rows *rows, struct model *model)
{
	const struct profile *profile = rows->profile;
	for (uint32_t i = 0; i < profile->n_sums; i++) {
		const struct profile_sum *sum = &profile->sums[i];
		const size_t row = model_row_of_sum(rows, i);
		rows->has_part[row] |= sum->uncounted;
		rows->rows[row + (sum->uncounted ? rows->n_places : 0)].concurrency =
			sum->concurrency;
		if (!sum->uncounted)
			take_tally(sum, &rows->rows[row].tally);
	}
	for (size_t i = 0; i < profile->n_sum_flop; i++) {
		const struct profile_sum_flop *row = &profile->sum_flop[i];
		struct tally *tally = &rows->rows[model_row_of_sum(rows, row->sum)].tally;
		tally->flop_by_kind[row->kind][row->precision][row->width] = row->flop;
	}
	for (size_t i = 0; i < profile->n_sum_classes; i++) {
		const struct profile_sum_classes *row = &profile->sum_classes[i];
		memcpy(rows->rows[model_row_of_sum(rows, row->sum)].tally.class_instructions,
		       row->instructions, sizeof(row->instructions));
	}
	model->unreadable_blocks = count_fact(profile, "unreadable_blocks");
	model->unmatched_units = count_fact(profile, "unmatched_units");
	return take_threads(rows);
}

/* ---- to sums ---- */

/* Its figures are then those of the row. */
static bool has_one_thread(const struct model_function *function)
{
	const struct tally *tally = &function->tally;
	const struct model_thread *thread = function->threads;
	return function->n_threads == 1 && thread->flop == tally->flop &&
	       thread->load_bytes == tally->load_bytes &&
	       thread->store_bytes == tally->store_bytes &&
	       thread->instructions == tally->instructions;
}

/* Finds or adds the sum of a row.  False: no memory. */
static bool sum_of_row(struct summer *summer, size_t row, uint32_t *out)
{
	const struct model_rows *rows = summer->rows;
	struct profile *profile = summer->profile;
	const size_t place = row % rows->n_places;
	const struct model_function *function = &rows->rows[row];
	const struct tally *tally = &function->tally;
	*out = summer->sum_of[row];
	if (*out != PROFILE_NONE)
		return true;
	*out = summer->sum_of[row] = (uint32_t)profile->n_sums;
	struct profile_sum sum = {.function =
					  place < rows->n_named ? (uint32_t)place : PROFILE_NONE,
				  .module = PROFILE_NONE,
				  .thread = PROFILE_NONE,
				  .uncounted = row >= rows->n_places,
				  .concurrency = function->concurrency,
				  .flop = tally->flop,
				  .flop_unmasked = tally->flop_unmasked,
				  .load_bytes = tally->load_bytes,
				  .store_bytes = tally->store_bytes,
				  .nt_store_bytes = tally->nt_store_bytes,
				  .string_bytes = tally->string_bytes,
				  .loads = tally->loads,
				  .stores = tally->stores,
				  .instructions = tally->instructions};
	if (place >= rows->n_named && place - rows->n_named < profile->n_modules)
		sum.module = (uint32_t)(place - rows->n_named);
	if (has_one_thread(function))
		sum.thread = function->threads[0].thread;
	return rf_array_push(profile->sums, profile->n_sums, profile->cap_sums, sum);
}

static bool store_flop(struct profile *profile, uint32_t sum, const struct tally *tally)
{
	for (uint32_t k = 0; k < FLOP_KINDS; k++)
		for (uint32_t p = 0; p < FLOP_PRECISIONS; p++)
			for (uint32_t w = 0; w < FLOP_WIDTHS; w++) {
				struct profile_sum_flop row = {sum, k, p, w,
							       tally->flop_by_kind[k][p][w]};
				if (row.flop &&
				    !rf_array_push(profile->sum_flop, profile->n_sum_flop,
						   profile->cap_sum_flop, row))
					return false;
			}
	return true;
}

static bool store_classes(struct profile *profile, uint32_t sum, const struct tally *tally)
{
	struct profile_sum_classes row = {.sum = sum};
	memcpy(row.instructions, tally->class_instructions, sizeof(row.instructions));
	return rf_array_push(profile->sum_classes, profile->n_sum_classes, profile->cap_sum_classes,
			     row);
}

static bool store_threads(struct profile *profile, uint32_t sum,
			  const struct model_function *function)
{
	for (size_t i = 0; !has_one_thread(function) && i < function->n_threads; i++) {
		const struct model_thread *thread = &function->threads[i];
		struct profile_sum_thread row = {sum,
						 thread->thread,
						 thread->flop,
						 thread->load_bytes,
						 thread->store_bytes,
						 thread->instructions};
		if (!rf_array_push(profile->sum_threads, profile->n_sum_threads,
				   profile->cap_sum_threads, row))
			return false;
	}
	return true;
}

/* The first counter of a quantity stands for it. */
static uint32_t counter_of(const struct profile *profile, const char *quantity)
{
	uint32_t i = 0;
	while (i + 1 < profile->n_counters && strcmp(profile->counters[i].quantity, quantity) != 0)
		i++;
	return i;
}

static bool store_quantities(struct summer *summer, uint32_t sum,
			     const struct model_function *function)
{
	struct profile *profile = summer->profile;
	for (size_t i = 0; function->quantities && i < summer->model->n_quantities; i++) {
		const struct model_quantity *quantity = &function->quantities[i];
		struct profile_sum_quantity row = {.sum = sum,
						   .counter = counter_of(profile, quantity->name),
						   .samples = quantity->samples,
						   .value = quantity->value,
						   .events = quantity->events,
						   .variance = quantity->variance};
		if (!rf_array_push(profile->sum_quantities, profile->n_sum_quantities,
				   profile->cap_sum_quantities, row))
			return false;
	}
	return true;
}

/* A file can claim any number. */
static uint64_t whole(double count)
{
	return count < 0x1p63 ? (uint64_t)count : INT64_MAX;
}

/* Of what moved, all but the lines. */
static bool store_traffic(struct profile *profile, uint32_t sum,
			  const struct model_traffic *traffic)
{
	const struct model_strides *s = &traffic->strides;
	struct profile_sum_stride stride = {sum,
					    whole(s->unit),
					    whole(s->constant),
					    whole(s->random),
					    whole(s->fetched),
					    whole(s->used),
					    s->step};
	bool ok = (s->unit + s->constant + s->random + s->fetched + s->used == 0) ||
		  rf_array_push(profile->sum_strides, profile->n_sum_strides,
				profile->cap_sum_strides, stride);
	for (size_t i = 0; ok && i < traffic->n_objects; i++) {
		const struct model_object *object = &traffic->objects[i];
		struct profile_sum_object row = {sum, object->object, object->read, object->write};
		ok = rf_array_push(profile->sum_objects, profile->n_sum_objects,
				   profile->cap_sum_objects, row);
	}
	for (size_t i = 0; ok && i < traffic->n_capacities; i++) {
		const struct model_capacity *at = &traffic->capacities[i];
		struct profile_sum_working_set row = {sum, at->capacity, at->reads, at->writes};
		ok = rf_array_push(profile->sum_working_sets, profile->n_sum_working_sets,
				   profile->cap_sum_working_sets, row);
	}
	return ok;
}

static bool is_empty(const struct model_function *function)
{
	static const struct tally none;
	return function->n_samples == 0 && !function->quantities &&
	       memcmp(&function->tally, &none, sizeof(none)) == 0;
}

static bool store_row(struct summer *summer, size_t row)
{
	const struct model_function *function = &summer->rows->rows[row];
	uint32_t sum;
	if (!model_is_used(summer->rows, row) || is_empty(function))
		return true;
	return sum_of_row(summer, row, &sum) &&
	       store_flop(summer->profile, sum, &function->tally) &&
	       (!function->n_samples || !function->tally.instructions ||
		store_classes(summer->profile, sum, &function->tally)) &&
	       store_threads(summer->profile, sum, function) &&
	       store_quantities(summer, sum, function) &&
	       (!function->traffic || store_traffic(summer->profile, sum, function->traffic));
}

static int compare_times(const void *a, const void *b)
{
	const struct profile_sum_time *x = a, *y = b;
	if (x->sum != y->sum)
		return x->sum < y->sum ? -1 : 1;
	return x->thread < y->thread ? -1 : x->thread > y->thread;
}

/* Sorts, and makes one row of those with one key. */
static void merge_times(struct profile *profile)
{
	struct profile_sum_time *rows = profile->sum_times;
	size_t kept = 0;
	if (profile->n_sum_times)
		qsort(rows, profile->n_sum_times, sizeof(*rows), compare_times);
	for (size_t i = 0; i < profile->n_sum_times; i++) {
		if (!kept || compare_times(&rows[kept - 1], &rows[i]) != 0) {
			rows[kept++] = rows[i];
			continue;
		}
		rows[kept - 1].samples += rows[i].samples;
		if (__builtin_add_overflow(rows[kept - 1].time_ns, rows[i].time_ns,
					   &rows[kept - 1].time_ns))
			rows[kept - 1].time_ns = INT64_MAX;
	}
	profile->n_sum_times = kept;
}

/* By place, whether it was counted or not: that follows from the thread. */
static bool store_times(struct summer *summer)
{
	struct profile *profile = summer->profile;
	const uint64_t cost = model_sample_cost(profile);
	for (size_t i = 0; i < profile->n_samples; i++) {
		const struct profile_sample *sample = &profile->samples[i];
		const struct profile_frame *frame =
			sample->frame == PROFILE_NONE ? NULL : &profile->frames[sample->frame];
		const size_t row =
			frame ? model_row_at(summer->rows, frame->module, frame->offset, NULL)
			      : summer->rows->n_places - 1;
		struct profile_sum_time time = {.thread = sample->thread,
						.samples = 1,
						.time_ns = model_sample_weight(sample, cost)};
		if (!sum_of_row(summer, row, &time.sum) ||
		    !rf_array_push(profile->sum_times, profile->n_sum_times, profile->cap_sum_times,
				   time))
			return false;
	}
	merge_times(profile);
	return true;
}

/* ---- lines by class of sets ---- */

/* Little-endian groups of 7 bits, the last with its top bit clear (DWARF 5, section 7.6). */
static bool put_number(struct profile_sum_traffic *row, size_t *cap, uint64_t value)
{
	size_t n = row->size;
	bool ok;
	do {
		const uint8_t byte = (uint8_t)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
		ok = rf_array_push(row->lines, n, *cap, byte);
		value >>= 7;
	} while (ok && value);
	row->size = (uint32_t)n;
	return ok;
}

static uint64_t get_number(const struct profile_sum_traffic *row, size_t *at)
{
	uint64_t value = 0;
	for (unsigned shift = 0; *at < row->size; shift += 7) {
		const uint8_t byte = row->lines[(*at)++];
		value |= shift < 64 ? (uint64_t)(byte & 0x7f) << shift : 0;
		if (!(byte & 0x80))
			break;
	}
	return value;
}

void model_sum_lines(const struct profile_sum_traffic *row, unsigned n_classes,
		     struct traffic_lines *lines)
{
	size_t at = 0;
	for (unsigned class = 0; class < n_classes; class ++)
		for (int e = 0; e < N_TRAFFIC; e++)
			lines->by_class[class][e] = (double)get_number(row, &at);
}

static int compare_rows(const void *a, const void *b, void *sum_of)
{
	const uint32_t x = ((const uint32_t *)sum_of)[*(const uint32_t *)a];
	const uint32_t y = ((const uint32_t *)sum_of)[*(const uint32_t *)b];
	return x < y ? -1 : x > y;
}

/* Rows order[0 .. n) of the traffic, all of one sum. */
static bool store_lines_of(struct profile *profile, uint32_t sum, const uint32_t *order, size_t n)
{
	uint64_t lines[CACHE_CLASSES][N_TRAFFIC] = {{0}};
	unsigned n_classes = 0;
	struct profile_sum_traffic row = {.sum = sum};
	size_t cap = 0;
	bool ok = true;
	for (size_t i = 0; i < n; i++) {
		const struct profile_traffic *from = &profile->traffic[order[i]];
		if (from->class >= CACHE_CLASSES)
			continue;
		n_classes = from->class + 1 > n_classes ? from->class + 1 : n_classes;
		for (int e = 0; e < N_TRAFFIC; e++)
			lines[from->class][e] += from->lines[e];
	}
	for (unsigned class = 0; ok && class < n_classes; class ++)
		for (int e = 0; ok && e < N_TRAFFIC; e++)
			ok = put_number(&row, &cap, lines[class][e]);
	if (ok && rf_array_push(profile->sum_traffic, profile->n_sum_traffic,
				profile->cap_sum_traffic, row))
		return true;
	free(row.lines);
	return false;
}

static bool store_lines(struct summer *summer)
{
	struct profile *profile = summer->profile;
	const size_t n = profile->n_traffic;
	uint32_t *order = malloc((n + 1) * sizeof(*order)), *sums = malloc((n + 1) * sizeof(*sums));
	bool ok = order && sums;
	for (size_t i = 0; ok && i < n; i++) {
		const struct profile_traffic *from = &profile->traffic[i];
		order[i] = (uint32_t)i;
		ok = sum_of_row(summer,
				model_row_at(summer->rows, from->module, from->offset, NULL),
				&sums[i]);
	}
	if (ok && n)
		qsort_r(order, n, sizeof(*order), compare_rows, sums);
	for (size_t i = 0, same; ok && i < n; i += same) {
		for (same = 1; i + same < n && sums[order[i + same]] == sums[order[i]];)
			same++;
		ok = store_lines_of(profile, sums[order[i]], order + i, same);
	}
	free(order);
	free(sums);
	return ok;
}

/* ---- all of it ---- */

static void clear_sums(struct profile *profile)
{
	for (size_t i = 0; i < profile->n_sum_traffic; i++)
		free(profile->sum_traffic[i].lines);
	profile->n_sums = profile->n_sum_classes = profile->n_sum_flop = profile->n_sum_threads =
		profile->n_sum_times = 0;
	profile->n_sum_traffic = profile->n_sum_objects = profile->n_sum_strides = 0;
	profile->n_sum_working_sets = profile->n_sum_quantities = 0;
	profile->has_sums = false;
}

bool model_store_sums(const struct model_rows *rows, const struct model *model,
		      struct profile *profile)
{
	struct summer summer = {rows, model, profile,
				malloc((rows->n_rows + 1) * sizeof(*summer.sum_of))};
	bool ok = summer.sum_of != NULL;
	clear_sums(profile);
	if (ok)
		memset(summer.sum_of, 0xff, rows->n_rows * sizeof(*summer.sum_of));
	for (size_t row = 0; ok && row < rows->n_rows; row++)
		ok = store_row(&summer, row);
	ok = ok && store_times(&summer) && store_lines(&summer);
	free(summer.sum_of);
	if (!ok) {
		clear_sums(profile);
		return false;
	}
	profile_set_fact(profile, PROFILE_SUMS_FACT, PROFILE_SUMS_VERSION);
	if (model->unreadable_blocks)
		profile_set_fact(profile, "unreadable_blocks", "%zu", model->unreadable_blocks);
	if (model->unmatched_units)
		profile_set_fact(profile, "unmatched_units", "%zu", model->unmatched_units);
	profile->has_sums = profile->n_sums > 0;
	return true;
}
