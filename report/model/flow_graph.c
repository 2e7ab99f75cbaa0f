/* The control flow graph of a function, from the blocks of it that were executed. */
#include "report/model/flow_graph.h"

#include "base/array.h"
#include "base/search.h"
#include "insn/work.h"

#include <stdlib.h>

int64_t flow_add(int64_t a, int64_t b)
{
	int64_t sum;
	return __builtin_add_overflow(a, b, &sum) ? (a < 0 ? INT64_MIN : INT64_MAX) : sum;
}

struct rf_error *flow_graph_add(struct flow_graph *graph, const struct profile *profile,
				uint32_t index, uint32_t from, uint32_t to, int64_t n)
{
	const struct profile_block *block = &profile->blocks[index];
	struct rf_error *error = NULL;
	for (uint32_t at = from; !error && at < to;) {
		struct work work;
		if (!work_of_bytes(block->bytes + at, block->size - at, &work) || work.length == 0)
			break;
		/* only a block's last instruction can be one */
		struct branch branch = {BRANCH_NONE, 0};
		if (at + work.length == block->size)
			branch = branch_of_bytes(block->bytes + at, block->size - at,
						 block->start + at);
		struct flow_node node = {
			.offset = block->start + at,
			.n = n,
			.target = branch.target,
			.block = index,
			.at = at,
			.kind = branch.kind,
			.length = work.length,
			.starts_block = at == 0,
			.loop = PROFILE_NONE,
		};
		error = rf_array_add(graph->nodes, graph->n_nodes, graph->cap_nodes, node);
		at += work.length;
	}
	return error;
}

static int compare_nodes(const void *a, const void *b)
{
	const struct flow_node *x = a, *y = b;
	return rf_compare(x->offset, y->offset);
}

/* Sorts; an instruction that stands in several blocks becomes one node. */
static void merge_nodes(struct flow_graph *graph)
{
	size_t kept = 0;
	if (graph->n_nodes)
		qsort(graph->nodes, graph->n_nodes, sizeof(*graph->nodes), compare_nodes);
	for (size_t i = 0; i < graph->n_nodes; i++) {
		struct flow_node *next = &graph->nodes[i],
				 *last = kept ? &graph->nodes[kept - 1] : NULL;
		if (last && last->offset == next->offset) {
			last->n = flow_add(last->n, next->n);
			last->starts_block |= next->starts_block;
		} else {
			graph->nodes[kept++] = *next;
		}
	}
	graph->n_nodes = kept;
}

/* How many nodes are at or before the offset. */
static size_t nodes_before(const struct flow_graph *graph, uint64_t offset)
{
	return rf_search(graph->n_nodes, i, graph->nodes[i].offset <= offset);
}

static uint32_t node_at(const struct flow_graph *graph, uint64_t offset)
{
	size_t n = nodes_before(graph, offset);
	return n && graph->nodes[n - 1].offset == offset ? (uint32_t)(n - 1) : FLOW_NONE;
}

const struct flow_node *flow_node_around(const struct flow_graph *graph, uint64_t offset)
{
	size_t n = nodes_before(graph, offset);
	const struct flow_node *node = n ? &graph->nodes[n - 1] : NULL;
	return node && offset - node->offset < node->length ? node : NULL;
}

static bool goes_on(enum branch_kind kind)
{
	return kind == BRANCH_NONE || kind == BRANCH_CONDITIONAL;
}

struct rf_error *flow_graph_link(struct flow_graph *graph)
{
	merge_nodes(graph);
	const size_t n = graph->n_nodes;
	graph->to = malloc((2 * n + 1) * sizeof(*graph->to));
	graph->orphans = malloc((n + 1) * sizeof(*graph->orphans));
	if (!graph->to || !graph->orphans)
		return rf_error_no_memory();
	for (size_t i = 0; i < n; i++) {
		const struct flow_node *node = &graph->nodes[i];
		bool direct = node->kind == BRANCH_CONDITIONAL || node->kind == BRANCH_JUMP;
		graph->to[2 * i] = goes_on(node->kind) ? node_at(graph, node->offset + node->length)
						       : FLOW_NONE;
		graph->to[2 * i + 1] = direct ? node_at(graph, node->target) : FLOW_NONE;
	}
	struct rf_error *error =
		by_key_init(&graph->before, n, graph->to, sizeof(*graph->to), 2 * n);
	for (size_t i = 1; !error && i < n; i++) /* the first is the function's entry */
		if (flow_n_before(graph, (uint32_t)i) == 0 && graph->nodes[i].starts_block)
			graph->orphans[graph->n_orphans++] = (uint32_t)i;
	return error;
}

void flow_graph_clear(struct flow_graph *graph)
{
	free(graph->to);
	by_key_deinit(&graph->before);
	free(graph->orphans);
	*graph = (struct flow_graph){.nodes = graph->nodes, .cap_nodes = graph->cap_nodes};
}

void flow_graph_deinit(struct flow_graph *graph)
{
	flow_graph_clear(graph);
	free(graph->nodes);
	*graph = (struct flow_graph){0};
}

bool flow_next(const struct flow_graph *graph, uint32_t from, uint32_t k, uint32_t *to)
{
	if (k < 2) {
		*to = graph->to[2 * (size_t)from + k];
		return true;
	}
	if (graph->nodes[from].kind != BRANCH_INDIRECT || k - 2 >= graph->n_orphans)
		return false;
	*to = graph->orphans[k - 2];
	return true;
}

bool flow_edge_count(const struct flow_graph *graph, const struct profile_function *f,
		     uint32_t from, uint32_t to, int64_t *n)
{
	const struct flow_node *node = &graph->nodes[from];
	const uint32_t *ways = &graph->to[2 * (size_t)from];
	const uint32_t other = ways[0] == to ? ways[1] : ways[0];
	*n = node->n;
	if (node->kind == BRANCH_INDIRECT)
		return false;
	if (node->kind != BRANCH_CONDITIONAL || other == to)
		return true;
	if (other == FLOW_NONE) { /* never executed, unless the way leads out of the function */
		const uint64_t place = ways[0] == to ? node->target : node->offset + node->length;
		return place >= f->start && place < f->end;
	}
	if (other == 0 || flow_n_before(graph, other) != 1)
		return false;
	*n -= graph->nodes[other].n;
	return *n >= 0;
}
