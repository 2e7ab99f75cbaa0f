/* The work of each row: blocks × executions × the work of their instructions. */
#include "report/model/model_count.h"

#include "base/parallel.h"
#include "base/search.h"
#include "base/sort_by.h"
#include "insn/insn_cache.h"

#include <stdlib.h>
#include <string.h>

#define LEAST_PIECES 2000 /* for which a thread is worth while */

/* What all threads look at.  An instruction is in one row, and a row is one thread's. */
struct program {
	struct model_rows *rows;
	const struct profile *profile;
	struct by_key by_block; /* rows of profile->counts */
	uint32_t *units;        /* rows of profile->units by (module, offset) */
	bool *units_taken; /* one instruction may stand in several blocks; its units count once */
	size_t n_parts, unreadable[PARALLEL_MOST];
};

struct counter {
	struct program *program;
	struct model_rows *rows;
	const struct profile *profile;
	struct insn_cache *insns;
	size_t unreadable; /* blocks */
	bool takes_back;   /* second pass: counts below 0 */
};

/* What a thread did in code of `row`. */
static struct rf_error *add_to_row(struct counter *counter, size_t row, uint32_t thread,
				   uint32_t kernel, const struct tally *part, int64_t times)
{
	struct model_rows *rows = counter->rows;
	struct model_function *function = &rows->rows[model_row_of_work(rows, row, thread, kernel)];
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
	const struct by_key *by = &counter->program->by_block;
	struct rf_error *error = NULL;
	for (size_t i = by->first[block]; !error && i < by->first[block + 1]; i++) {
		const struct profile_count *count = &counter->profile->counts[by->items[i]];
		if (count->n != 0 && (count->n < 0) == counter->takes_back)
			error = add_to_row(counter, row, count->thread, count->kernel, part,
					   count->n);
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
	for (size_t i = model_first_units(profile, counter->program->units, module, offset);
	     !error && i < profile->n_units; i++) {
		const struct profile_units *units = &profile->units[counter->program->units[i]];
		if (units->module != module || units->offset != offset)
			break;
		if (!counter->program->units_taken[i])
			error = add_to_row(counter, row, units->thread, units->kernel, &unit,
					   units->n < INT64_MAX ? (int64_t)units->n : INT64_MAX);
		counter->program->units_taken[i] = true;
	}
	return error;
}

/* Walks over a piece of a block once. */
static struct rf_error *count_piece(struct counter *counter, const struct model_piece *piece)
{
	const struct profile_block *block = &counter->profile->blocks[piece->block];
	struct tally part = {0};
	struct rf_error *error = NULL;
	for (uint32_t at = piece->first; !error && at < piece->to;) {
		const struct work *work =
			insn_cache_work(counter->insns, block->bytes + at, block->size - at);
		if (!work) {
			counter->unreadable += !counter->takes_back;
			break;
		}
		model_tally_fixed(&part, work);
		if (work->units != UNITS_NONE && !counter->takes_back)
			error = add_units(counter, piece->row, block->module, block->start + at,
					  work);
		at += work->length;
	}
	return error ?: add_executions(counter, piece->row, piece->block, &part);
}

/* An execution that a signal cut in two stands there as one of the whole block, one of the rest
 * that was run afterwards, and one less of that rest. */
static bool has_less(const struct counter *counter, size_t block)
{
	const struct by_key *by = &counter->program->by_block;
	for (size_t i = by->first[block]; i < by->first[block + 1]; i++)
		if (counter->profile->counts[by->items[i]].n < 0)
			return true;
	return false;
}

static struct rf_error *count_row(struct counter *counter, size_t row)
{
	const struct by_key *by = &counter->rows->pieces_of, *counts = &counter->program->by_block;
	struct rf_error *error = NULL;
	for (size_t i = by->first[row]; !error && i < by->first[row + 1]; i++) {
		const struct model_piece *piece = &counter->rows->pieces[by->items[i]];
		if (piece->first < piece->to &&
		    (counter->takes_back
			     ? has_less(counter, piece->block)
			     : counts->first[piece->block] < counts->first[piece->block + 1]))
			error = count_piece(counter, piece);
	}
	return error;
}

static struct rf_error *count_part(size_t part, void *context)
{
	struct program *program = context;
	const struct model_rows *rows = program->rows;
	struct counter counter = {.program = program,
				  .rows = program->rows,
				  .profile = program->profile,
				  .insns = insn_cache_create()};
	struct rf_error *error = counter.insns ? NULL : rf_error_no_memory();
	const size_t first = model_part_of_rows(rows, part, program->n_parts),
		     end = model_part_of_rows(rows, part + 1, program->n_parts);
	for (size_t row = first; !error && row < end; row++)
		error = count_row(&counter, row);
	counter.takes_back = true;
	for (size_t row = first; !error && row < end; row++)
		error = count_row(&counter, row);
	program->unreadable[part] = counter.unreadable;
	insn_cache_destroy(counter.insns);
	return error;
}

static struct rf_error *program_init(struct program *program)
{
	const struct profile *profile = program->profile;
	program->units = model_units_by_place(profile);
	program->units_taken = calloc(profile->n_units + 1, sizeof(*program->units_taken));
	if (!program->units || !program->units_taken)
		return rf_error_no_memory();
	return by_key_init(&program->by_block, profile->n_blocks, profile->counts,
			   sizeof(*profile->counts), profile->n_counts)
		       ?: model_find_pieces(program->rows);
}

/* Each row by one thread; but rows of threads and the like share what is counted at one place. */
struct rf_error *model_count(struct model_rows *rows, struct model *model)
{
	struct program program = {.rows = rows, .profile = rows->profile, .n_parts = 1};
	struct rf_error *error = program_init(&program);
	if (!rows->groups)
		program.n_parts = parallel_parts(rows->n_pieces, LEAST_PIECES);
	error = error ?: parallel_run(program.n_parts, count_part, &program);
	for (size_t part = 0; part < program.n_parts; part++)
		model->unreadable_blocks += program.unreadable[part];
	for (size_t i = 0; !error && i < program.profile->n_units; i++)
		model->unmatched_units += !program.units_taken[i];
	by_key_deinit(&program.by_block);
	free(program.units);
	free(program.units_taken);
	return error;
}
