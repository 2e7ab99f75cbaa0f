/* Blocks × executions × the work of their instructions.  Exact: integers all the way. */
#include "report/model/model_parts.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

struct counter {
	struct model_rows *rows;
	struct model *model;
	const struct profile *profile;
	size_t *first_count; /* counts of block b: by_block[first_count[b] .. first_count[b+1]) */
	uint32_t *by_block;
	uint32_t *units;   /* rows of profile->units by (module, offset) */
	bool *units_taken; /* one instruction may stand in several blocks; its units count once */
	bool takes_back;   /* second pass: counts below 0 */
};

/* A file can claim any number: stop at the largest that JSON readers keep exact as int64. */
static void add_scaled(uint64_t *sum, uint64_t value, uint64_t times)
{
	uint64_t product;
	if (__builtin_mul_overflow(value, times, &product) ||
	    __builtin_add_overflow(*sum, product, sum) || *sum > INT64_MAX)
		*sum = INT64_MAX;
}

static void take_back_scaled(uint64_t *sum, uint64_t value, uint64_t times)
{
	uint64_t product;
	*sum = __builtin_mul_overflow(value, times, &product) || product > *sum ? 0
										: *sum - product;
}

static void add_or_take_back(uint64_t *sum, uint64_t value, int64_t times)
{
	if (times < 0)
		take_back_scaled(sum, value, -(uint64_t)times);
	else
		add_scaled(sum, value, (uint64_t)times);
}

void model_tally_add(struct tally *sum, const struct tally *part, int64_t times)
{
	_Static_assert(sizeof(struct tally) % sizeof(uint64_t) == 0,
		       "a tally is an array of counts");
	uint64_t *to = (uint64_t *)sum;
	const uint64_t *from = (const uint64_t *)part;
	for (size_t i = 0; i < sizeof(*sum) / sizeof(*to); i++)
		if (from[i])
			add_or_take_back(&to[i], from[i], times);
}

struct model_thread *model_thread_of(struct model_function *function, uint32_t thread)
{
	for (size_t i = function->n_threads; i-- > 0;)
		if (function->threads[i].thread == thread)
			return &function->threads[i];
	struct model_thread fresh = {.thread = thread};
	if (!rf_array_push(function->threads, function->n_threads, function->cap_threads, fresh))
		return NULL;
	return &function->threads[function->n_threads - 1];
}

static bool add_to_thread(struct model_function *function, uint32_t thread,
			  const struct tally *part, int64_t times)
{
	struct model_thread *sum = model_thread_of(function, thread);
	if (!sum)
		return false;
	add_or_take_back(&sum->flop, part->flop, times);
	add_or_take_back(&sum->load_bytes, part->load_bytes, times);
	add_or_take_back(&sum->store_bytes, part->store_bytes, times);
	add_or_take_back(&sum->instructions, part->instructions, times);
	return true;
}

/* `part`, done once per execution of `block`, goes to function row `row`. */
static bool add_executions(struct counter *counter, size_t row, size_t block,
			   const struct tally *part)
{
	for (size_t i = counter->first_count[block]; i < counter->first_count[block + 1]; i++) {
		const struct profile_count *count = &counter->profile->counts[counter->by_block[i]];
		if (count->n == 0 || (count->n < 0) != counter->takes_back)
			continue;
		struct model_function *function =
			&counter->rows
				 ->rows[model_row_of_thread(counter->rows, row, count->thread)];
		model_tally_add(&function->tally, part, count->n);
		if (!add_to_thread(function, count->thread, part, count->n))
			return false;
	}
	return true;
}

static void add_flop(struct tally *tally, const struct work *work, uint64_t flop)
{
	tally->flop += flop;
	tally->flop_by_kind[work->flop_kind][work->flop_precision][work->flop_width] += flop;
}

/* What is known from the instruction alone. */
void model_tally_fixed(struct tally *tally, const struct work *work)
{
	uint64_t flop = (uint64_t)work->flop_lanes * work->flop_per_lane;
	tally->instructions++;
	tally->class_instructions[work->insn_class]++;
	tally->loads += work->is_load;
	tally->stores += work->is_store;
	tally->load_bytes += work->load_bytes;
	tally->store_bytes += work->store_bytes;
	tally->nt_store_bytes += work->non_temporal ? work->store_bytes : 0;
	tally->flop_unmasked += flop;
	if (!work->masked)
		add_flop(tally, work, flop);
}

/* What one run-time unit adds. */
void model_tally_unit(const struct work *work, struct tally *tally)
{
	*tally = (struct tally){.load_bytes = work->unit_load_bytes,
				.store_bytes = work->unit_store_bytes};
	if (work->non_temporal)
		tally->nt_store_bytes = work->unit_store_bytes;
	if (work->units == UNITS_REP)
		tally->string_bytes = work->unit_load_bytes + work->unit_store_bytes;
	if (work->masked && work->flop_lanes)
		add_flop(tally, work, work->flop_per_lane);
}

static bool unit_before(const struct profile_units *units, uint32_t module, uint64_t offset)
{
	return units->module < module || (units->module == module && units->offset < offset);
}

static size_t first_units(const struct counter *counter, uint32_t module, uint64_t offset)
{
	size_t low = 0, high = counter->profile->n_units;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (unit_before(&counter->profile->units[counter->units[middle]], module, offset))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool add_units(struct counter *counter, size_t row, uint32_t module, uint64_t offset,
		      const struct work *work)
{
	struct tally unit;
	model_tally_unit(work, &unit);
	for (size_t i = first_units(counter, module, offset); i < counter->profile->n_units; i++) {
		const struct profile_units *units = &counter->profile->units[counter->units[i]];
		if (units->module != module || units->offset != offset)
			break;
		if (counter->units_taken[i])
			continue;
		counter->units_taken[i] = true;
		const int64_t n = units->n < INT64_MAX ? (int64_t)units->n : INT64_MAX;
		struct model_function *function =
			&counter->rows
				 ->rows[model_row_of_thread(counter->rows, row, units->thread)];
		model_tally_add(&function->tally, &unit, n);
		if (!add_to_thread(function, units->thread, &unit, n))
			return false;
	}
	return true;
}

/* Walks over the block once; a block that runs on into the next function is split there. */
static bool count_block(struct counter *counter, size_t index)
{
	const struct profile_block *block = &counter->profile->blocks[index];
	struct tally part = {0};
	size_t row = 0;
	uint64_t end = 0; /* of the function at `row` */
	for (uint32_t at = 0; at < block->size;) {
		struct work work;
		uint64_t offset = block->start + at;
		if (at == 0 || offset >= end) {
			if (at > 0 && !add_executions(counter, row, index, &part))
				return false;
			part = (struct tally){0};
			row = model_row_at(counter->rows, block->module, offset, &end);
		}
		if (!work_of_bytes(block->bytes + at, block->size - at, &work) ||
		    work.length == 0) {
			counter->model->unreadable_blocks += !counter->takes_back;
			break;
		}
		model_tally_fixed(&part, &work);
		if (work.units != UNITS_NONE && !counter->takes_back &&
		    !add_units(counter, row, block->module, offset, &work))
			return false;
		at += work.length;
	}
	return add_executions(counter, row, index, &part);
}

static int compare_units(const void *a, const void *b, void *rows)
{
	const struct profile_units *x = &((const struct profile_units *)rows)[*(const uint32_t *)a];
	const struct profile_units *y = &((const struct profile_units *)rows)[*(const uint32_t *)b];
	if (x->module != y->module)
		return x->module < y->module ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* Counting sort of the counts by block. */
static void group_counts(struct counter *counter)
{
	const struct profile *profile = counter->profile;
	size_t *first = counter->first_count;
	for (size_t i = 0; i < profile->n_counts; i++)
		first[profile->counts[i].block + 1]++;
	for (size_t b = 0; b < profile->n_blocks; b++)
		first[b + 1] += first[b];
	for (size_t i = profile->n_counts; i-- > 0;)
		counter->by_block[--first[profile->counts[i].block + 1]] = (uint32_t)i;
	/* first[b + 1] is now where block b starts: move down by one. */
	memmove(first, first + 1, profile->n_blocks * sizeof(*first));
	first[profile->n_blocks] = profile->n_counts;
}

static bool counter_init(struct counter *counter)
{
	const struct profile *profile = counter->profile;
	counter->first_count = calloc(profile->n_blocks + 1, sizeof(*counter->first_count));
	counter->by_block = malloc((profile->n_counts + 1) * sizeof(*counter->by_block));
	counter->units = malloc((profile->n_units + 1) * sizeof(*counter->units));
	counter->units_taken = calloc(profile->n_units + 1, sizeof(*counter->units_taken));
	if (!counter->first_count || !counter->by_block || !counter->units || !counter->units_taken)
		return false;
	group_counts(counter);
	for (size_t i = 0; i < profile->n_units; i++)
		counter->units[i] = (uint32_t)i;
	qsort_r(counter->units, profile->n_units, sizeof(*counter->units), compare_units,
		profile->units);
	return true;
}

/* An execution that a signal cut in two stands there as one of the whole block, one of the rest
 * that was run afterwards, and one less of that rest. */
static bool has_less(const struct counter *counter, size_t block)
{
	for (size_t i = counter->first_count[block]; i < counter->first_count[block + 1]; i++)
		if (counter->profile->counts[counter->by_block[i]].n < 0)
			return true;
	return false;
}

bool model_count(struct model_rows *rows, struct model *model)
{
	if (rows->sums)
		return model_count_sums(rows, model);
	struct counter counter = {.rows = rows, .model = model, .profile = rows->profile};
	bool done = counter_init(&counter);
	for (size_t b = 0; done && b < counter.profile->n_blocks; b++)
		if (counter.first_count[b] < counter.first_count[b + 1])
			done = count_block(&counter, b);
	counter.takes_back = true;
	for (size_t b = 0; done && b < counter.profile->n_blocks; b++)
		if (has_less(&counter, b))
			done = count_block(&counter, b);
	for (size_t i = 0; done && i < counter.profile->n_units; i++)
		model->unmatched_units += !counter.units_taken[i];
	free(counter.first_count);
	free(counter.by_block);
	free(counter.units);
	free(counter.units_taken);
	return done;
}
