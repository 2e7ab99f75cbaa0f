/* The control flow graph of a function, from the blocks of it that were executed, and its loops.
 *
 * A loop is a strongly connected part of the graph: instructions that can all be reached from one
 * another.  Without its header (where it is entered from outside) what is left of it falls apart
 * into the loops within.  Loops that share their header are one.  A part that is entered at several
 * places is a loop as well, with the first of them as its header. */
#include "report/model/flow_graph.h"

#include "base/array.h"
#include "base/search.h"

#include <stdlib.h>

#define MAX_NEST 24 /* deeper loops are not taken apart */

/* Tarjan's algorithm, with a stack of its own. */
struct visit {
	uint32_t node;
	uint32_t edge;
};

/* Members of a loop that are still to be taken apart: members[first .. first + n). */
struct task {
	uint32_t loop;
	size_t first, n;
	unsigned depth;
};

/* What the search knows of a node. */
struct seen {
	uint32_t number, low; /* number 0: not seen */
	uint32_t part;        /* stamp of the set that is looked at */
	uint32_t member;      /* the number of the loop that has last looked at it */
	bool on_stack;
};

struct search {
	struct flow_graph *graph;
	const struct profile_function *code;
	struct model_function *function;
	struct seen *seen; /* per node */
	uint32_t *stack;
	size_t n_stack;
	struct visit *visits;
	size_t n_visits;
	uint32_t next, stamp;
	uint32_t n_loops;
	uint32_t *members;
	size_t n_members, cap_members;
	struct task *tasks;
	size_t n_tasks, cap_tasks;
	/* Each indirect jump may lead to each of these, the orphans of the set that is looked at:
	 * by way of a node of the search's own, so that there are not as many edges as pairs. */
	uint32_t hub;
	uint32_t *targets;
	size_t n_targets;
};

/* ---- the graph ---- */

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
		struct branch branch =
			branch_of_bytes(block->bytes + at, block->size - at, block->start + at);
		if (branch.length == 0)
			break;
		/* only a block's last instruction can be one */
		if (at + branch.length != block->size)
			branch = (struct branch){BRANCH_NONE, 0, branch.length};
		struct flow_node node = {
			.offset = block->start + at,
			.n = n,
			.target = branch.target,
			.block = index,
			.at = at,
			.kind = branch.kind,
			.length = branch.length,
			.starts_block = at == 0,
			.loop = PROFILE_NONE,
		};
		error = rf_array_add(graph->nodes, graph->n_nodes, graph->cap_nodes, node);
		at += branch.length;
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
	size_t kept = 0, in_order = 1;
	while (in_order < graph->n_nodes &&
	       graph->nodes[in_order - 1].offset <= graph->nodes[in_order].offset)
		in_order++;
	if (in_order < graph->n_nodes)
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
	graph->n_nodes = graph->n_own = kept;
}

/* How many nodes are at or before the offset. */
static size_t nodes_before(const struct flow_graph *graph, uint64_t offset)
{
	return rf_search(graph->n_own, i, graph->nodes[i].offset <= offset);
}

uint32_t flow_graph_node_at(const struct flow_graph *graph, uint64_t offset)
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

/* How many edges lead to a node. */
static uint32_t n_before(const struct flow_graph *graph, uint32_t node)
{
	return (uint32_t)(graph->before.first[node + 1] - graph->before.first[node]);
}

/* Nothing leads to it but, perhaps, an indirect jump; the first is the function's entry. */
static bool is_orphan(const struct flow_graph *graph, uint32_t node)
{
	return node > 0 && n_before(graph, node) == 0 && graph->nodes[node].starts_block;
}

static struct rf_error *link_nodes(struct flow_graph *graph)
{
	merge_nodes(graph);
	const size_t n = graph->n_nodes;
	graph->to = malloc((2 * n + 1) * sizeof(*graph->to));
	if (!graph->to)
		return rf_error_no_memory();
	for (size_t i = 0; i < n; i++) {
		const struct flow_node *node = &graph->nodes[i];
		bool direct = node->kind == BRANCH_CONDITIONAL || node->kind == BRANCH_JUMP;
		graph->to[2 * i] = goes_on(node->kind)
					   ? flow_graph_node_at(graph, node->offset + node->length)
					   : FLOW_NONE;
		graph->to[2 * i + 1] = direct ? flow_graph_node_at(graph, node->target) : FLOW_NONE;
	}
	struct rf_error *error = flow_graph_link_back(graph);
	for (uint32_t i = 0; !error && i < n; i++)
		graph->n_orphans += is_orphan(graph, i);
	return error;
}

struct rf_error *flow_graph_link_back(struct flow_graph *graph)
{
	by_key_deinit(&graph->before);
	return by_key_init(&graph->before, graph->n_nodes, graph->to, sizeof(*graph->to),
			   2 * graph->n_nodes);
}

void flow_graph_clear(struct flow_graph *graph)
{
	free(graph->to);
	by_key_deinit(&graph->before);
	*graph = (struct flow_graph){.nodes = graph->nodes, .cap_nodes = graph->cap_nodes};
}

void flow_graph_deinit(struct flow_graph *graph)
{
	flow_graph_clear(graph);
	free(graph->nodes);
	*graph = (struct flow_graph){0};
}

size_t flow_graph_way(const struct flow_graph *graph, uint32_t loop, uint64_t offset, uint32_t *way,
		      size_t most)
{
	const uint32_t header = flow_graph_node_at(graph, offset);
	size_t n = 0;
	for (uint32_t at = header; at != FLOW_NONE && n < most;) {
		uint32_t next = FLOW_NONE;
		way[n++] = at;
		for (unsigned k = 0; k < 2; k++) {
			const uint32_t to = graph->to[2 * (size_t)at + k];
			if (to != FLOW_NONE && graph->nodes[to].loop == loop &&
			    (next == FLOW_NONE || graph->nodes[to].n > graph->nodes[next].n))
				next = to;
		}
		if (next == header)
			return n;
		at = next;
	}
	return 0;
}

/* The node that is executed most often of those that `from` leads to, in the own code of `loop` or
 * that node itself. */
static uint32_t next_on_way(const struct flow_graph *graph, uint32_t from, uint32_t loop,
			    uint32_t or_node)
{
	uint32_t next = FLOW_NONE;
	for (unsigned k = 0; k < 2; k++) {
		const uint32_t to = graph->to[2 * (size_t)from + k];
		if (to != FLOW_NONE && (graph->nodes[to].loop == loop || to == or_node) &&
		    (next == FLOW_NONE || graph->nodes[to].n > graph->nodes[next].n))
			next = to;
	}
	return next;
}

size_t flow_graph_way_around(const struct flow_graph *graph, uint32_t outer, const uint32_t *way,
			     size_t n_way, uint32_t *around, size_t most)
{
	uint32_t at = FLOW_NONE;
	size_t n = 0;
	for (size_t i = n_way; i-- > 0 && at == FLOW_NONE;) /* the last one leaves it, if any */
		at = next_on_way(graph, way[i], outer, FLOW_NONE);
	while (at != FLOW_NONE && n < most) {
		around[n++] = at;
		at = next_on_way(graph, at, outer, way[0]);
		if (at == way[0])
			return n;
	}
	return 0;
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
	if (other == 0 || n_before(graph, other) != 1)
		return false;
	*n -= graph->nodes[other].n;
	return *n >= 0;
}

/* ---- connected parts ---- */

/* The k-th node behind `from`, or FLOW_NONE; false when there is no k-th. */
static bool next_node(const struct search *search, uint32_t from, uint32_t k, uint32_t *to)
{
	if (from == search->hub) {
		*to = k < search->n_targets ? search->targets[k] : FLOW_NONE;
		return k < search->n_targets;
	}
	*to = k < 2 ? search->graph->to[2 * (size_t)from + k] : search->hub;
	return k < 2 || (k == 2 && search->graph->nodes[from].kind == BRANCH_INDIRECT);
}

static void enter(struct search *search, uint32_t node)
{
	search->seen[node].number = search->seen[node].low = ++search->next;
	search->seen[node].on_stack = true;
	search->stack[search->n_stack++] = node;
	search->visits[search->n_visits++] = (struct visit){node, 0};
}

static void lower(uint32_t *value, uint32_t to)
{
	*value = to < *value ? to : *value;
}

static bool leads_to_itself(const struct flow_graph *graph, uint32_t node)
{
	const uint32_t *to = &graph->to[2 * (size_t)node];
	return to[0] == node || to[1] == node ||
	       (graph->nodes[node].kind == BRANCH_INDIRECT && is_orphan(graph, node));
}

/* ---- loops ---- */

static struct rf_error *add_task(struct search *search, const struct task *task)
{
	return rf_array_add(search->tasks, search->n_tasks, search->cap_tasks, *task);
}

static int compare_numbers(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return rf_compare(x, y);
}

/* From outside of the members, which are marked: by an edge, as the function's entry, or by who
 * knows what. */
static bool is_entered(const struct search *search, uint32_t node)
{
	const struct by_key *before = &search->graph->before;
	if (node == 0 || n_before(search->graph, node) == 0)
		return true;
	for (size_t i = before->first[node]; i < before->first[node + 1]; i++)
		if (search->seen[before->items[i] / 2].member != search->n_loops)
			return true;
	return false;
}

/* From the ways into the header, those from outside or, where these are not known, those from
 * within.  Members are marked. */
static int64_t entries_of(const struct search *search, uint32_t header)
{
	const struct by_key *before = &search->graph->before;
	int64_t sums[2] = {0, 0}, n; /* from outside, from within */
	bool known[2] = {header != 0, true};
	for (size_t i = before->first[header]; i < before->first[header + 1]; i++) {
		const uint32_t from = before->items[i] / 2;
		const bool within = search->seen[from].member == search->n_loops;
		if (flow_edge_count(search->graph, search->code, from, header, &n))
			sums[within] = flow_add(sums[within], n);
		else
			known[within] = false;
	}
	if (search->graph->n_orphans && n_before(search->graph, header) == 0)
		known[0] = false;
	const int64_t turns = search->graph->nodes[header].n;
	if (known[0] && sums[0] > 0 && sums[0] <= turns)
		return sums[0];
	/* below 0 they tell nothing */
	return known[1] && sums[1] >= 0 && sums[1] < turns ? turns - sums[1] : -1;
}

/* Index of the first member that is entered from outside; the first where none is. */
static size_t find_header(struct search *search, const uint32_t *members, size_t n)
{
	search->n_loops++;
	for (size_t i = 0; i < n; i++)
		search->seen[members[i]].member = search->n_loops;
	for (size_t i = 0; i < n; i++)
		if (is_entered(search, members[i]))
			return i;
	return 0;
}

/* Members were found from the last to the first, or nearly so. */
static void sort_members(uint32_t *members, size_t n)
{
	size_t in_order = 1;
	for (size_t i = 0; i < n / 2; i++) {
		const uint32_t kept = members[i];
		members[i] = members[n - 1 - i];
		members[n - 1 - i] = kept;
	}
	while (in_order < n && members[in_order - 1] <= members[in_order])
		in_order++;
	if (in_order < n)
		qsort(members, n, sizeof(*members), compare_numbers);
}

static struct rf_error *new_loop(struct search *search, const struct task *task, size_t first,
				 size_t n)
{
	struct model_function *function = search->function;
	uint32_t *members = search->members + first;
	sort_members(members, n);
	size_t at = find_header(search, members, n);
	const struct flow_node *header = &search->graph->nodes[members[at]],
			       *last = &search->graph->nodes[members[n - 1]];
	struct model_loop loop = {
		.parent = task->loop,
		.start = search->graph->nodes[members[0]].offset,
		.end = last->offset + last->length,
		.header = header->offset,
		.turns = header->n,
		.entries = entries_of(search, members[at]),
		.bytes = &model_no_bytes,
	};
	const uint32_t index = (uint32_t)function->n_loops;
	if (!rf_array_push(function->loops, function->n_loops, function->cap_loops, loop))
		return rf_error_no_memory();
	for (size_t i = 0; i < n; i++)
		search->graph->nodes[members[i]].loop = index;
	if (n == 1 || task->depth + 1 >= MAX_NEST)
		return NULL;
	members[at] = members[n - 1]; /* the header is not in what is taken apart */
	struct task inner = {index, first, n - 1, task->depth + 1};
	return add_task(search, &inner);
}

/* ---- all of it ---- */

/* The part that ends with `root` is complete: a loop when it goes round. */
static struct rf_error *take_part(struct search *search, const struct task *task, uint32_t root)
{
	size_t n = 0, first = search->n_members;
	uint32_t node;
	do {
		node = search->stack[--search->n_stack];
		search->seen[node].on_stack = false;
		if (node == search->hub)
			continue;
		if (!rf_array_push(search->members, search->n_members, search->cap_members, node))
			return rf_error_no_memory();
		n++;
	} while (node != root);
	if (n > 1 || (n == 1 && leads_to_itself(search->graph, search->members[first])))
		return new_loop(search, task, first, n);
	search->n_members = first;
	return NULL;
}

/* All parts that can be reached from `start` within the task's set. */
static struct rf_error *search_from(struct search *search, const struct task *task, uint32_t start)
{
	enter(search, start);
	while (search->n_visits) {
		struct visit *visit = &search->visits[search->n_visits - 1];
		uint32_t node = visit->node, to;
		if (next_node(search, node, visit->edge, &to)) {
			visit->edge++;
			if (to == FLOW_NONE || search->seen[to].part != search->stamp)
				continue;
			if (!search->seen[to].number)
				enter(search, to);
			else if (search->seen[to].on_stack)
				lower(&search->seen[node].low, search->seen[to].number);
			continue;
		}
		struct rf_error *error = search->seen[node].low == search->seen[node].number
						 ? take_part(search, task, node)
						 : NULL;
		if (error)
			return error;
		if (--search->n_visits)
			lower(&search->seen[search->visits[search->n_visits - 1].node].low,
			      search->seen[node].low);
	}
	return NULL;
}

static struct rf_error *take_apart(struct search *search, const struct task *task)
{
	struct rf_error *error = NULL;
	search->stamp++;
	search->next = 0;
	search->n_targets = 0;
	search->seen[search->hub] = (struct seen){.part = search->stamp};
	for (size_t i = 0; i < task->n; i++) {
		const uint32_t node = search->members[task->first + i];
		search->seen[node].part = search->stamp;
		search->seen[node].number = 0;
		if (is_orphan(search->graph, node))
			search->targets[search->n_targets++] = node;
	}
	if (search->n_targets)
		qsort(search->targets, search->n_targets, sizeof(*search->targets),
		      compare_numbers);
	for (size_t i = 0; !error && i < task->n; i++) {
		const uint32_t node = search->members[task->first + i];
		if (!search->seen[node].number)
			error = search_from(search, task, node);
	}
	return error;
}

static int compare_headers(const void *a, const void *b, void *context)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const struct model_loop *loops = context;
	return rf_compare(loops[x].header, loops[y].header) ?: rf_compare(x, y);
}

/* Gives each loop its number. */
static struct rf_error *number_loops(const struct model_function *function)
{
	const size_t n = function->n_loops;
	uint32_t *order = model_sorted(n, compare_headers, function->loops);
	uint32_t *last = calloc(n + 1, sizeof(*last)); /* in each loop, and in none */
	for (size_t i = 0; order && last && i < n; i++) {
		struct model_loop *loop = &function->loops[order[i]];
		loop->number = ++last[loop->parent == PROFILE_NONE ? n : loop->parent];
	}
	struct rf_error *error = order && last ? NULL : rf_error_no_memory();
	free(order);
	free(last);
	return error;
}

/* A loop is large, an array begins with room for several, and there are many functions. */
static void fit_loops(struct model_function *function)
{
	const size_t n = function->n_loops;
	struct model_loop *fitted = n ? realloc(function->loops, n * sizeof(*fitted)) : NULL;
	if (!fitted)
		return;
	function->loops = fitted;
	function->cap_loops = n;
}

struct rf_error *flow_graph_find_loops(struct flow_graph *graph,
				       const struct profile_function *code,
				       struct model_function *function)
{
	struct rf_error *error = link_nodes(graph);
	const size_t n = graph->n_nodes;
	const struct task all = {PROFILE_NONE, 0, n, 0};
	struct search search = {.graph = graph,
				.code = code,
				.function = function,
				.seen = calloc(n + 1, sizeof(*search.seen)),
				.stack = malloc((n + 1) * sizeof(*search.stack)),
				.visits = malloc((n + 1) * sizeof(*search.visits)),
				.hub = (uint32_t)n,
				.targets = malloc((n + 1) * sizeof(*search.targets))};
	if (!error)
		error = search.seen && search.stack && search.visits && search.targets
				? add_task(&search, &all)
				: rf_error_no_memory();
	for (uint32_t i = 0; !error && i < n; i++)
		error = rf_array_add(search.members, search.n_members, search.cap_members, i);
	for (size_t i = 0; !error && i < search.n_tasks; i++) { /* which adds tasks */
		const struct task task = search.tasks[i];
		error = take_apart(&search, &task);
	}
	error = error ?: number_loops(function);
	fit_loops(function);
	free(search.seen);
	free(search.stack);
	free(search.visits);
	free(search.targets);
	free(search.members);
	free(search.tasks);
	return error;
}

double flow_graph_executions(const struct flow_graph *graph, const uint32_t *nodes, size_t n)
{
	double sum = 0;
	for (size_t i = 0; i < n; i++)
		sum += (double)graph->nodes[nodes[i]].n;
	return sum;
}
