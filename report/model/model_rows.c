/* The rows of a model: which code is in which, and what they are called. */
#include "report/model/model_rows.h"

#include "base/array.h"
#include "base/search.h"
#include "insn/insn_cache.h"
#include "profile/function_index.h"
#include "report/model/model_traffic.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static size_t group_at(const struct model_rows *rows, uint32_t module, uint64_t offset,
		       uint64_t *end)
{
	const struct model_range *ranges = rows->groups->ranges;
	const size_t n = rf_search(rows->groups->n_ranges, i,
				   ranges[i].module < module || (ranges[i].module == module &&
								 ranges[i].start <= offset));
	const struct model_range *range = n ? &ranges[n - 1] : NULL;
	const bool within = range && range->module == module && offset < range->end;
	if (end)
		*end = within ? range->end : UINT64_MAX;
	return within ? range->row : rows->n_named + module;
}

size_t model_row_at(const struct model_rows *rows, uint32_t module, uint64_t offset, uint64_t *end)
{
	if (rows->groups && module != PROFILE_NONE)
		return group_at(rows, module, offset, end);
	const size_t place = profile_place_at(rows->profile, module, offset, end);
	return rows->groups ? rows->n_places - 1 : place;
}

/* ---- which code is a row's ---- */

/* Offset in the block of the first instruction at `to` or behind it, of those that follow each
 * other from `at` on; the block's end where one cannot be read. */
static uint32_t next_beyond(struct insn_cache *insns, const struct profile_block *block,
			    uint32_t at, uint32_t to)
{
	while (at < to && at < block->size) {
		const struct work *work =
			insn_cache_work(insns, block->bytes + at, block->size - at);
		if (!work)
			return block->size;
		at += work->length;
	}
	return at;
}

/* Nearly all blocks are one piece. */
static struct rf_error *add_pieces(struct model_rows *rows, struct insn_cache *insns,
				   uint32_t index)
{
	const struct profile_block *block = &rows->profile->blocks[index];
	struct rf_error *error = NULL;
	uint32_t first = 0;
	for (uint32_t at = 0; !error && at < block->size;) {
		uint64_t end;
		const size_t row = model_row_at(rows, block->module, block->start + at, &end);
		const uint64_t room = end - (block->start + at);
		const uint32_t to = room < block->size - at ? at + (uint32_t)room : block->size;
		if (to <= at)
			break;
		error = rf_array_add(rows->pieces, rows->n_pieces, rows->cap_pieces,
				     ((struct model_piece){(uint32_t)row, index, at, to,
							   first < to ? first : to}));
		if (to < block->size)
			first = next_beyond(insns, block, first, to);
		at = to;
	}
	return error;
}

struct rf_error *model_find_pieces(struct model_rows *rows)
{
	struct insn_cache *insns = insn_cache_create();
	struct rf_error *error = insns ? NULL : rf_error_no_memory();
	for (size_t b = 0; !error && b < rows->profile->n_blocks; b++)
		error = add_pieces(rows, insns, (uint32_t)b);
	insn_cache_destroy(insns);
	return error
		       ?: by_key_init(&rows->pieces_of, rows->n_places, rows->pieces,
				      sizeof(*rows->pieces), rows->n_pieces);
}

size_t model_part_of_rows(const struct model_rows *rows, size_t part, size_t n_parts)
{
	const size_t before = rows->n_pieces / n_parts * part;
	return part == n_parts
		       ? rows->n_places
		       : rf_search(rows->n_places, row, rows->pieces_of.first[row] < before);
}

/* ---- threads and names ---- */

struct profile_sum_thread *model_thread_of(struct model_function *function, uint32_t thread)
{
	for (size_t i = function->n_threads; i-- > 0;)
		if (function->threads[i].thread == thread)
			return &function->threads[i];
	struct profile_sum_thread fresh = {.thread = thread};
	if (!rf_array_push(function->threads, function->n_threads, function->cap_threads, fresh))
		return NULL;
	return &function->threads[function->n_threads - 1];
}

const char *model_place_module(const struct profile *profile, size_t place)
{
	const size_t n = profile->n_functions;
	const size_t module = place < n ? profile->functions[place].module : place - n;
	return module < profile->n_modules ? profile->modules[module].name : "";
}

struct rf_error *model_name_row(const struct model_rows *rows, size_t row)
{
	const struct profile *profile = rows->profile;
	struct model_function *function = &rows->rows[row];
	const size_t place = row % rows->n_places;
	const bool named = place < rows->n_named;
	const struct model_group *group =
		rows->groups && named ? &rows->groups->groups[place] : NULL;
	const char *name = "[unknown]";
	function->uncounted_part = row >= rows->n_places;
	function->row = place;
	function->function = group ? group->function : named ? (uint32_t)place : PROFILE_NONE;
	function->left_out = group && group->left_out;
	if (group)
		function->code = group->code;
	/* behind those that have names, rows are the modules' and the one of none */
	function->module =
		group ? group->module
		      : model_place_module(profile,
					   named ? place
						 : place - rows->n_named + profile->n_functions);
	if (named)
		name = group ? group->name : profile->functions[place].name;
	if (named || place == rows->n_places - 1)
		function->name = strdup(name ? name : "");
	else if (asprintf(&function->name, "[unknown in %s]", function->module) < 0)
		function->name = NULL;
	return function->name ? NULL : rf_error_no_memory();
}

/* Rows of large programs take a hundred megabytes: to get these page by page is a tenth of the time
 * of a report.  What is not touched still takes none. */
static void use_large_pages(void *memory, size_t bytes)
{
	const uintptr_t page = 2 << 20, begin = ((uintptr_t)memory + page - 1) & -page,
			end = ((uintptr_t)memory + bytes) & -page;
	if (memory && bytes > 4 * page)
		(void)madvise((void *)begin, end - begin, MADV_HUGEPAGE);
}

struct rf_error *model_rows_init(struct model_rows *rows, const struct profile *profile,
				 const struct model_choice *choice)
{
	const struct model_groups *groups = choice->groups;
	const size_t n_named = groups ? groups->n_groups : profile->n_functions;
	const size_t n_places = n_named + profile->n_modules + 1;
	*rows = (struct model_rows){
		.profile = profile,
		.groups = groups,
		.choice = *choice,
		.saved = choice->sums && profile->has_sums && !groups && !choice->loops,
		.n_named = n_named,
		.n_places = n_places,
		.n_rows = 2 * n_places,
		.rows = calloc(2 * n_places, sizeof(*rows->rows)),
		.has_part = calloc(n_places, sizeof(*rows->has_part)),
		.quantity_of = calloc(profile->n_counters + 1, sizeof(*rows->quantity_of)),
		.lines = calloc(n_places, sizeof(*rows->lines)),
	};
	use_large_pages(rows->rows, rows->n_rows * sizeof(*rows->rows));
	if (!rows->rows || !rows->has_part || !rows->quantity_of || !rows->lines)
		return rf_error_no_memory();
	return profile_index_functions(profile);
}

void model_function_deinit(struct model_function *function)
{
	free(function->name);
	free(function->threads);
	free(function->loops);
	free(function->loop_bytes);
	free(function->loop_irregular);
	free(function->quantities);
	model_traffic_destroy(function->traffic);
}

void model_take_rows(struct model_rows *rows, struct model *model)
{
	size_t kept = 0;
	for (size_t row = 0; row < rows->n_rows; row++) {
		if (!model_is_used(rows, row))
			continue;
		if (!rows->rows[row].name)
			model_function_deinit(&rows->rows[row]);
		else if (kept++ != row)
			rows->rows[kept - 1] = rows->rows[row];
	}
	model->functions = rows->rows;
	model->n_functions = kept;
	rows->rows = NULL;
}

void model_rows_deinit(struct model_rows *rows)
{
	for (size_t row = 0; rows->rows && rows->has_part && row < rows->n_rows; row++)
		if (model_is_used(rows, row))
			model_function_deinit(&rows->rows[row]);
	for (size_t place = 0; rows->lines && !rows->saved && place < rows->n_places; place++)
		free(rows->lines[place].bytes);
	free(rows->rows);
	free(rows->has_part);
	free(rows->quantity_of);
	free(rows->lines);
	free(rows->times);
	free(rows->pieces);
	by_key_deinit(&rows->pieces_of);
	free(rows->run_times);
}
