/* The loops of each function, from the control transfers in the blocks that were executed: which
 * code is a function's, and what its loops did: work of their instructions, time of the samples and
 * traffic of the lines in them. */
#include "report/model/model_loops.h"

#include "base/array.h"
#include "base/search.h"
#include "base/sort_by.h"
#include "insn/insn_cache.h"
#include "report/model/flow_graph.h"
#include "report/model/model_code.h"
#include "report/model/model_count.h"
#include "report/model/model_irregular.h"
#include "report/model/model_processes.h"

#include <assert.h>
#include <stdlib.h>

/* A part of a block that lies in one function. */
struct piece {
	uint32_t row, block, from, to;
};

struct finder {
	const struct model_rows *rows;
	const struct profile *profile;
	struct model *model;
	struct piece *pieces;
	size_t n_pieces, cap_pieces;
	int64_t *executions;            /* per block */
	struct by_key samples, traffic; /* by their row */
	uint32_t *units;                /* by (module, offset) */
	struct irregular_loads irregular;
	struct insn_cache *insns;
	/* of the function that is looked at */
	uint32_t row, module;
	struct model_function *function;
	struct flow_graph graph;
};

/* ---- which code and which samples are a function's ---- */

static struct rf_error *add_pieces(struct finder *finder, uint32_t index)
{
	const struct profile_block *block = &finder->profile->blocks[index];
	struct rf_error *error = NULL;
	for (uint32_t at = 0; !error && at < block->size;) {
		uint64_t end;
		size_t row = model_row_at(finder->rows, block->module, block->start + at, &end);
		uint64_t room = end - (block->start + at);
		uint32_t to = room < block->size - at ? at + (uint32_t)room : block->size;
		struct piece piece = {(uint32_t)row, index, at, to};
		if (to <= at)
			break;
		error = rf_array_add(finder->pieces, finder->n_pieces, finder->cap_pieces, piece);
		at = to;
	}
	return error;
}

static uint64_t key_of_piece(const void *item)
{
	const struct piece *piece = item;
	return (uint64_t)piece->row << 32 | piece->block;
}

/* The code by function. */
static struct rf_error *find_pieces(struct finder *finder)
{
	const struct profile *profile = finder->profile;
	struct rf_error *error = NULL;
	for (size_t i = 0; i < profile->n_counts; i++) {
		int64_t *sum = &finder->executions[profile->counts[i].block];
		*sum = flow_add(*sum, profile->counts[i].n);
	}
	for (size_t b = 0; !error && b < profile->n_blocks; b++)
		if (finder->executions[b])
			error = add_pieces(finder, (uint32_t)b);
	if (!error &&
	    !rf_sort_by(finder->pieces, finder->n_pieces, sizeof(*finder->pieces), key_of_piece))
		error = rf_error_no_memory();
	return error;
}

/* A sample that was not counted is in no loop. */
static uint32_t row_of_sample(const struct finder *finder, size_t i)
{
	const uint32_t leaf = finder->profile->samples[i].frame;
	if (leaf == PROFILE_NONE || finder->model->uncounted_samples[i])
		return PROFILE_NONE;
	const struct profile_frame *frame = &finder->profile->frames[leaf];
	return (uint32_t)model_row_at(finder->rows, frame->module, frame->offset, NULL);
}

static struct rf_error *find_samples(struct finder *finder)
{
	const struct profile *profile = finder->profile;
	const size_t n_samples = profile->n_samples, n_traffic = profile->n_traffic;
	uint32_t *row_of = malloc((n_samples + n_traffic + 1) * sizeof(*row_of));
	if (!row_of)
		return rf_error_no_memory();
	for (size_t i = 0; i < n_samples; i++)
		row_of[i] = row_of_sample(finder, i);
	for (size_t i = 0; i < n_traffic; i++)
		row_of[n_samples + i] =
			(uint32_t)model_row_at(finder->rows, profile->traffic[i].module,
					       profile->traffic[i].offset, NULL);
	const size_t n = finder->rows->n_places;
	struct rf_error *error =
		by_key_init(&finder->samples, n, row_of, sizeof(*row_of), n_samples)
			?: by_key_init(&finder->traffic, n, row_of + n_samples, sizeof(*row_of),
				       n_traffic);
	free(row_of);
	return error;
}

/* ---- figures ---- */

static void add_units(const struct finder *finder, const struct flow_node *node,
		      const struct work *work, struct tally_main *tally)
{
	const struct profile *profile = finder->profile;
	struct tally whole;
	model_tally_unit(work, &whole);
	const struct tally_main unit = model_tally_main(&whole);
	for (size_t i = model_first_units(profile, finder->units, finder->module, node->offset);
	     i < profile->n_units; i++) {
		const struct profile_units *units = &profile->units[finder->units[i]];
		if (units->module != finder->module || units->offset != node->offset)
			return;
		model_main_add(tally, &unit, units->n < INT64_MAX ? (int64_t)units->n : INT64_MAX);
	}
}

/* What neighbours that ran as often do is added at once. */
static void add_work(const struct finder *finder)
{
	const struct flow_node *nodes = finder->graph.nodes;
	struct model_loop *loops = finder->function->loops;
	struct tally_main once = {0};
	for (size_t i = 0, n = finder->graph.n_nodes; i < n; i++) {
		const struct flow_node *node = &nodes[i];
		const struct profile_block *block = &finder->profile->blocks[node->block];
		if (node->loop == PROFILE_NONE)
			continue;
		const struct work *work = insn_cache_work(finder->insns, block->bytes + node->at,
							  block->size - node->at);
		if (work)
			model_main_fixed(&once, work);
		if (work && work->units != UNITS_NONE)
			add_units(finder, node, work, &loops[node->loop].tally);
		if (i + 1 < n && node[1].loop == node->loop && node[1].n == node->n)
			continue;
		model_main_add(&loops[node->loop].tally, &once, node->n > 0 ? node->n : 0);
		once = (struct tally_main){0};
	}
}

static struct model_loop *loop_around(const struct finder *finder, uint64_t offset)
{
	const struct flow_node *node = flow_node_around(&finder->graph, offset);
	return node && node->loop != PROFILE_NONE ? &finder->function->loops[node->loop] : NULL;
}

static void add_time(const struct finder *finder)
{
	const struct profile *profile = finder->profile;
	const struct by_key *by = &finder->samples;
	for (size_t i = by->first[finder->row]; i < by->first[finder->row + 1]; i++) {
		const struct profile_sample *sample = &profile->samples[by->items[i]];
		struct model_loop *loop =
			loop_around(finder, profile->frames[sample->frame].offset);
		if (!loop)
			continue;
		loop->n_samples++;
		model_add_ns(&loop->time_ns, finder->model->sample_ns[by->items[i]]);
	}
}

static struct rf_error *add_traffic(const struct finder *finder, unsigned n_classes)
{
	struct model_function *function = finder->function;
	const struct by_key *by = &finder->traffic;
	if (by->first[finder->row] == by->first[finder->row + 1])
		return NULL; /* nothing moved: all their figures are 0 */
	struct traffic_lines *lines = calloc(function->n_loops, sizeof(*lines));
	if (!lines)
		return rf_error_no_memory();
	for (size_t i = by->first[finder->row]; i < by->first[finder->row + 1]; i++) {
		const struct profile_traffic *traffic = &finder->profile->traffic[by->items[i]];
		struct model_loop *loop = loop_around(finder, traffic->offset);
		if (loop && traffic->class < n_classes)
			model_add_lines(&lines[loop - function->loops], traffic);
	}
	for (size_t i = function->n_loops; i-- > 0;) {
		struct model_loop *loop = &function->loops[i];
		if (loop->parent != PROFILE_NONE)
			model_sum_lines(&lines[loop->parent], &lines[i], n_classes);
		loop->bytes = model_bytes_of(&lines[i], n_classes);
	}
	free(lines);
	return NULL;
}

static void add_to_parents(struct model_function *function)
{
	for (size_t i = function->n_loops; i-- > 0;) {
		const struct model_loop *loop = &function->loops[i];
		if (loop->parent == PROFILE_NONE)
			continue;
		struct model_loop *parent = &function->loops[loop->parent];
		model_main_add(&parent->tally, &loop->tally, 1);
		parent->n_samples += loop->n_samples;
		model_add_ns(&parent->time_ns, loop->time_ns);
	}
}

/* Fills the loops of the function at hand, each with what the loops within have. */
static struct rf_error *add_figures(const struct finder *finder)
{
	const struct model *model = finder->model;
	const bool wanted = finder->rows->choice.loops;
	if (!finder->function->n_loops)
		return NULL;
	if (wanted)
		add_work(finder);
	add_time(finder);
	add_to_parents(finder->function);
	if (!wanted)
		return NULL;
	return model->traced ? add_traffic(finder, model->traced_classes) : NULL;
}

/* ---- all of it ---- */

/* Says which code is in which loop, for sums over that code. */
static struct rf_error *keep_code(const struct finder *finder)
{
	struct model *model = finder->model;
	struct rf_error *error = NULL;
	for (size_t i = 0; !error && i < finder->graph.n_nodes; i++) {
		const struct flow_node *node = &finder->graph.nodes[i];
		struct model_loop_code *last =
			model->n_loop_code ? &model->loop_code[model->n_loop_code - 1] : NULL;
		struct model_loop_code code = {finder->module, finder->row, node->loop,
					       node->offset, node->offset + node->length};
		if (node->loop == PROFILE_NONE)
			continue;
		if (last && last->function == finder->row && last->loop == node->loop &&
		    last->end == node->offset)
			last->end = code.end;
		else
			error = rf_array_add(model->loop_code, model->n_loop_code,
					     model->cap_loop_code, code);
	}
	return error;
}

/* Where the loops were not asked for, they have done their service when the code was read. */
static struct rf_error *keep_loops(const struct finder *finder)
{
	struct model_function *function = finder->function;
	if (finder->rows->choice.loops)
		return keep_code(finder);
	free(function->loops);
	function->loops = NULL;
	function->n_loops = function->cap_loops = 0;
	return NULL;
}

/* The function whose pieces are [first, first + n). */
static struct rf_error *look_at(struct finder *finder, const struct piece *pieces, size_t n)
{
	const struct profile_function *code = &finder->profile->functions[pieces->row];
	struct flow_graph *graph = &finder->graph;
	struct rf_error *error = NULL;
	finder->row = pieces->row;
	finder->module = code->module;
	finder->function = &finder->rows->rows[pieces->row];
	const bool timed = finder->function->n_samples > 0; /* the code is to tell of its time */
	for (size_t i = 0; i < n && !error; i++)
		error = flow_graph_add(graph, finder->profile, pieces[i].block, pieces[i].from,
				       pieces[i].to, finder->executions[pieces[i].block]);
	error = error ?: flow_graph_find_loops(graph, code, finder->function)
			?: add_figures(finder)
			?: model_read_irregular(&finder->irregular, finder->insns, finder->module, graph,
						finder->function)
			?: (timed ? model_read_code(finder->profile, finder->insns, graph, code, finder->function)
				  : NULL)
			?: keep_loops(finder);
	flow_graph_clear(graph);
	return error;
}

struct rf_error *model_find_loops(struct model_rows *rows, struct model *model)
{
	const struct profile *profile = rows->profile;
	struct finder finder = {.rows = rows,
				.profile = profile,
				.model = model,
				.executions =
					calloc(profile->n_blocks + 1, sizeof(*finder.executions)),
				.insns = insn_cache_create(),
				.units = model_units_by_place(profile)};
	assert(!rows->groups && !rows->saved);
	struct rf_error *error = finder.executions && finder.units && finder.insns
					 ? find_pieces(&finder)
						   ?: find_samples(&finder)
						   ?: irregular_loads_init(&finder.irregular,
									   profile, model)
					 : rf_error_no_memory();
	for (size_t i = 0, n; !error && i < finder.n_pieces; i += n) {
		const uint32_t row = finder.pieces[i].row;
		for (n = 1; i + n < finder.n_pieces && finder.pieces[i + n].row == row;)
			n++;
		const bool timed = rows->choice.loops || rows->rows[row].n_samples;
		if (row < profile->n_functions && timed) /* code without a name is no function */
			error = look_at(&finder, &finder.pieces[i], n);
	}
	irregular_loads_deinit(&finder.irregular);
	by_key_deinit(&finder.samples);
	by_key_deinit(&finder.traffic);
	flow_graph_deinit(&finder.graph);
	insn_cache_destroy(finder.insns);
	free(finder.units);
	free(finder.pieces);
	free(finder.executions);
	return error;
}
