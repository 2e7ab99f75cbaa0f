/* The work of each row: blocks × executions × the work of their instructions. */
#include "report/model/model_count.h"

#include "base/by_key.h"
#include "base/search.h"
#include "insn/insn_cache.h"

#include <stdlib.h>
#include <string.h>

struct counter {
	struct model_rows *rows;
	struct model *model;
	const struct profile *profile;
	struct insn_cache *insns;
	struct by_key by_block; /* rows of profile->counts */
	uint32_t *units;        /* rows of profile->units by (module, offset) */
	bool *units_taken; /* one instruction may stand in several blocks; its units count once */
	bool takes_back;   /* second pass: counts below 0 */
};

/* What a thread did in code of `row`. */
static struct rf_error *add_to_row(struct counter *counter, size_t row, uint32_t thread,
				   const struct tally *part, int64_t times)
{
	struct model_rows *rows = counter->rows;
	struct model_function *function = &rows->rows[model_row_of_thread(rows, row, thread)];
	model_tally_add(&function->tally, part, times);
	struct profile_sum_thread *sum = model_thread_of(function, thread);
	if (!sum)
		return rf_error_no_memory();
	model_count_add(&sum->flop, part->flop, times);
	model_count_add(&sum->load_bytes, part->load_bytes, times);
	model_count_add(&sum->store_bytes, part->store_bytes, times);
	model_count_add(&sum->instructions, part->instructions, times);
	return NULL;
}

/* `part`, done once per execution of `block`, goes to function row `row`. */
static struct rf_error *add_executions(struct counter *counter, size_t row, size_t block,
				       const struct tally *part)
{
	const struct by_key *by = &counter->by_block;
	struct rf_error *error = NULL;
	for (size_t i = by->first[block]; !error && i < by->first[block + 1]; i++) {
		const struct profile_count *count = &counter->profile->counts[by->items[i]];
		if (count->n != 0 && (count->n < 0) == counter->takes_back)
			error = add_to_row(counter, row, count->thread, part, count->n);
	}
	return error;
}

static int compare_units(const void *a, const void *b, void *rows)
{
	const struct profile_units *x = &((const struct profile_units *)rows)[*(const uint32_t *)a];
	const struct profile_units *y = &((const struct profile_units *)rows)[*(const uint32_t *)b];
	return rf_compare(x->module, y->module) ?: rf_compare(x->offset, y->offset);
}

uint32_t *model_units_by_place(const struct profile *profile)
{
	return model_sorted(profile->n_units, compare_units, profile->units);
}

size_t model_first_units(const struct profile *profile, const uint32_t *order, uint32_t module,
			 uint64_t offset)
{
	const struct profile_units *units = profile->units;
	return rf_search(profile->n_units, i,
			 units[order[i]].module < module || (units[order[i]].module == module &&
							     units[order[i]].offset < offset));
}

static struct rf_error *add_units(struct counter *counter, size_t row, uint32_t module,
				  uint64_t offset, const struct work *work)
{
	const struct profile *profile = counter->profile;
	struct tally unit;
	struct rf_error *error = NULL;
	model_tally_unit(work, &unit);
	for (size_t i = model_first_units(profile, counter->units, module, offset);
	     !error && i < profile->n_units; i++) {
		const struct profile_units *units = &profile->units[counter->units[i]];
		if (units->module != module || units->offset != offset)
			break;
		if (!counter->units_taken[i])
			error = add_to_row(counter, row, units->thread, &unit,
					   units->n < INT64_MAX ? (int64_t)units->n : INT64_MAX);
		counter->units_taken[i] = true;
	}
	return error;
}

/* Walks over the block once; a block that runs on into the next function is split there. */
static struct rf_error *count_block(struct counter *counter, size_t index)
{
	const struct profile_block *block = &counter->profile->blocks[index];
	struct tally part = {0};
	size_t row = 0;
	uint64_t end = 0; /* of the function at `row` */
	struct rf_error *error = NULL;
	for (uint32_t at = 0; !error && at < block->size;) {
		const uint64_t offset = block->start + at;
		const struct work *work =
			insn_cache_work(counter->insns, block->bytes + at, block->size - at);
		if (at == 0 || offset >= end) {
			error = at > 0 ? add_executions(counter, row, index, &part) : NULL;
			part = (struct tally){0};
			row = model_row_at(counter->rows, block->module, offset, &end);
		}
		if (!work) {
			counter->model->unreadable_blocks += !counter->takes_back;
			break;
		}
		model_tally_fixed(&part, work);
		if (!error && work->units != UNITS_NONE && !counter->takes_back)
			error = add_units(counter, row, block->module, offset, work);
		at += work->length;
	}
	return error ?: add_executions(counter, row, index, &part);
}

static struct rf_error *counter_init(struct counter *counter)
{
	const struct profile *profile = counter->profile;
	counter->units = model_units_by_place(profile);
	counter->units_taken = calloc(profile->n_units + 1, sizeof(*counter->units_taken));
	counter->insns = insn_cache_create();
	if (!counter->units || !counter->units_taken || !counter->insns)
		return rf_error_no_memory();
	return by_key_init(&counter->by_block, profile->n_blocks, profile->counts,
			   sizeof(*profile->counts), profile->n_counts);
}

/* An execution that a signal cut in two stands there as one of the whole block, one of the rest
 * that was run afterwards, and one less of that rest. */
static bool has_less(const struct counter *counter, size_t block)
{
	const struct by_key *by = &counter->by_block;
	for (size_t i = by->first[block]; i < by->first[block + 1]; i++)
		if (counter->profile->counts[by->items[i]].n < 0)
			return true;
	return false;
}

struct rf_error *model_count(struct model_rows *rows, struct model *model)
{
	struct counter counter = {.rows = rows, .model = model, .profile = rows->profile};
	struct rf_error *error = counter_init(&counter);
	for (size_t b = 0; !error && b < counter.profile->n_blocks; b++)
		if (counter.by_block.first[b] < counter.by_block.first[b + 1])
			error = count_block(&counter, b);
	counter.takes_back = true;
	for (size_t b = 0; !error && b < counter.profile->n_blocks; b++)
		if (has_less(&counter, b))
			error = count_block(&counter, b);
	for (size_t i = 0; !error && i < counter.profile->n_units; i++)
		model->unmatched_units += !counter.units_taken[i];
	by_key_deinit(&counter.by_block);
	free(counter.units);
	free(counter.units_taken);
	insn_cache_destroy(counter.insns);
	return error;
}
