/* The loops of each function, from the control transfers in the blocks that were executed: which
 * code is a function's, and what is done with each. */
#include "report/model/model_loops.h"

#include "base/array.h"
#include "report/model/flow_graph.h"
#include "report/model/loop_figures.h"
#include "report/model/loop_search.h"

#include <assert.h>
#include <stdlib.h>

/* A part of a block that lies in one function. */
struct piece {
	uint32_t row, block, from, to;
};

struct finder {
	const struct model_rows *rows;
	struct model *model;
	struct piece *pieces;
	size_t n_pieces, cap_pieces;
	int64_t *executions; /* per block */
	struct loop_sources sources;
	struct flow_graph graph; /* of the function that is looked at */
};

static struct rf_error *add_pieces(struct finder *finder, uint32_t index)
{
	const struct profile_block *block = &finder->rows->profile->blocks[index];
	for (uint32_t at = 0; at < block->size;) {
		uint64_t end;
		size_t row = model_row_at(finder->rows, block->module, block->start + at, &end);
		uint64_t room = end - (block->start + at);
		uint32_t to = room < block->size - at ? at + (uint32_t)room : block->size;
		struct piece piece = {(uint32_t)row, index, at, to};
		if (to <= at)
			break;
		if (!rf_array_push(finder->pieces, finder->n_pieces, finder->cap_pieces, piece))
			return rf_error_no_memory();
		at = to;
	}
	return NULL;
}

static int compare_pieces(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;
	if (x->row != y->row)
		return x->row < y->row ? -1 : 1;
	return x->block < y->block ? -1 : x->block > y->block;
}

/* The code by function. */
static struct rf_error *find_pieces(struct finder *finder)
{
	const struct profile *profile = finder->rows->profile;
	struct rf_error *error = NULL;
	finder->executions = calloc(profile->n_blocks + 1, sizeof(*finder->executions));
	if (!finder->executions)
		return rf_error_no_memory();
	for (size_t i = 0; i < profile->n_counts; i++) {
		int64_t *sum = &finder->executions[profile->counts[i].block];
		*sum = flow_add(*sum, profile->counts[i].n);
	}
	for (size_t b = 0; !error && b < profile->n_blocks; b++)
		if (finder->executions[b])
			error = add_pieces(finder, (uint32_t)b);
	if (finder->n_pieces)
		qsort(finder->pieces, finder->n_pieces, sizeof(*finder->pieces), compare_pieces);
	return error;
}

/* Says which code is in which loop, for sums over that code. */
static struct rf_error *keep_code(const struct finder *finder, uint32_t row)
{
	struct model *model = finder->model;
	const uint32_t module = finder->rows->profile->functions[row].module;
	for (size_t i = 0; i < finder->graph.n_nodes; i++) {
		const struct flow_node *node = &finder->graph.nodes[i];
		struct model_loop_code *last =
			model->n_loop_code ? &model->loop_code[model->n_loop_code - 1] : NULL;
		struct model_loop_code code = {module, row, node->loop, node->offset,
					       node->offset + node->length};
		if (node->loop == PROFILE_NONE)
			continue;
		if (last && last->function == row && last->loop == node->loop &&
		    last->end == node->offset)
			last->end = code.end;
		else if (!rf_array_push(model->loop_code, model->n_loop_code, model->cap_loop_code,
					code))
			return rf_error_no_memory();
	}
	return NULL;
}

/* The function whose pieces are [first, first + n). */
static struct rf_error *look_at(struct finder *finder, const struct piece *pieces, size_t n)
{
	const struct profile *profile = finder->rows->profile;
	const uint32_t row = pieces->row;
	struct flow_graph *graph = &finder->graph;
	struct rf_error *error = NULL;
	for (size_t i = 0; i < n && !error; i++)
		error = flow_graph_add(graph, profile, pieces[i].block, pieces[i].from,
				       pieces[i].to, finder->executions[pieces[i].block]);
	if (!error)
		error = flow_graph_link(graph);
	if (!error)
		error = loop_search(graph, &profile->functions[row], &finder->rows->rows[row]);
	if (!error)
		error = loop_figures(&finder->sources, graph, row, finder->model);
	if (!error)
		error = keep_code(finder, row);
	flow_graph_clear(graph);
	return error;
}

struct rf_error *model_find_loops(struct model_rows *rows, struct model *model)
{
	struct finder finder = {.rows = rows, .model = model};
	assert(!rows->groups && !rows->saved);
	struct rf_error *error = loop_sources_init(&finder.sources, rows, model);
	if (!error)
		error = find_pieces(&finder);
	for (size_t i = 0, n; !error && i < finder.n_pieces; i += n) {
		const uint32_t row = finder.pieces[i].row;
		for (n = 1; i + n < finder.n_pieces && finder.pieces[i + n].row == row;)
			n++;
		if (row < rows->profile->n_functions) /* code without a name is no function */
			error = look_at(&finder, &finder.pieces[i], n);
	}
	loop_sources_deinit(&finder.sources);
	flow_graph_deinit(&finder.graph);
	free(finder.pieces);
	free(finder.executions);
	return error;
}
