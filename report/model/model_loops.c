/* The loops of each function, from the control transfers in the blocks that were executed.
 *
 * The graph has an instruction for a node.  A loop is a strongly connected part of it: instructions
 * that can all be reached from one another.  Without its header (where it is entered from outside)
 * what is left of it falls apart into the loops within.  Loops that share their header are one.  A
 * part that is entered at several places is a loop as well, with the first of them as its header.
 * Calls come back.  What an indirect jump leads to is not in the code: each place that was executed
 * and that nothing else leads to may be it. */
#include "insn/branch.h"
#include "report/model/model_parts.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

#define MAX_NEST 24 /* deeper loops are not taken apart */
#define NO_NODE UINT32_MAX

/* A part of a block that lies in one function. */
struct piece {
	uint32_t row, block, from, to;
};

struct node {
	uint64_t offset;
	int64_t n;          /* executions */
	uint64_t target;    /* of a direct branch */
	uint32_t block, at; /* where its bytes are */
	enum branch_kind kind;
	uint8_t length;
	bool starts_block;
	uint32_t loop; /* the innermost, or PROFILE_NONE */
};

/* Up to two ways on from a node. */
struct edges {
	uint32_t to[2];
};

/* Tarjan's algorithm, with a stack of its own. */
struct visit {
	uint32_t node;
	uint32_t edge;
};
struct search {
	uint32_t *number, *low; /* per node; number 0: not seen */
	uint32_t *part;         /* per node: stamp of the set that is looked at */
	bool *on_stack;
	uint32_t *stack;
	size_t n_stack;
	struct visit *visits;
	size_t n_visits;
	uint32_t next, stamp;
	uint32_t *member; /* per node: the number of the loop that has last looked at it */
	uint32_t n_loops;
};

/* Members of a loop that are still to be taken apart: members[first .. first + n). */
struct task {
	uint32_t loop;
	size_t first, n;
	unsigned depth;
};

struct finder {
	const struct model_rows *rows;
	const struct profile *profile;
	const struct model *model;
	struct model *kept; /* the same, for its loop_code */
	struct piece *pieces;
	size_t n_pieces, cap_pieces;
	int64_t *executions; /* per block */
	uint32_t *samples;
	size_t n_samples; /* by row */
	uint32_t *sample_rows;
	uint32_t *traffic;
	size_t n_traffic;
	uint32_t *traffic_rows;
	uint32_t *units; /* by (module, offset) */
	uint64_t cost;   /* of a sample */
	/* of the function that is looked at */
	struct model_function *function;
	uint32_t module, row;
	struct node *nodes;
	size_t n_nodes, cap_nodes;
	struct edges *edges;
	uint32_t *first_edge, *edges_to; /* the nodes before node i: edges_to[first_edge[i] ..
					    first_edge[i + 1]) */
	uint32_t *orphans;
	size_t n_orphans; /* what indirect jumps may lead to */
	struct search search;
	uint32_t *members;
	size_t n_members, cap_members;
	struct task *tasks;
	size_t n_tasks, cap_tasks;
};

static int64_t add_clamped(int64_t a, int64_t b)
{
	int64_t sum;
	return __builtin_add_overflow(a, b, &sum) ? (a < 0 ? INT64_MIN : INT64_MAX) : sum;
}

/* ---- the code by function ---- */

static bool add_pieces(struct finder *finder, uint32_t index)
{
	const struct profile_block *block = &finder->profile->blocks[index];
	for (uint32_t at = 0; at < block->size;) {
		uint64_t end;
		size_t row = model_row_at(finder->rows, block->module, block->start + at, &end);
		uint64_t room = end - (block->start + at);
		uint32_t to = room < block->size - at ? at + (uint32_t)room : block->size;
		struct piece piece = {(uint32_t)row, index, at, to};
		if (to <= at ||
		    !rf_array_push(finder->pieces, finder->n_pieces, finder->cap_pieces, piece))
			return to <= at;
		at = to;
	}
	return true;
}

static int compare_pieces(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;
	if (x->row != y->row)
		return x->row < y->row ? -1 : 1;
	return x->block < y->block ? -1 : x->block > y->block;
}

static int compare_by(const void *a, const void *b, void *context)
{
	const uint32_t *row_of = context, x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	if (row_of[x] != row_of[y])
		return row_of[x] < row_of[y] ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* Indices 0 to n − 1, by the row of each. */
static uint32_t *sorted_by(uint32_t *row_of, size_t n)
{
	uint32_t *sorted = malloc((n + 1) * sizeof(*sorted));
	for (size_t i = 0; sorted && i < n; i++)
		sorted[i] = (uint32_t)i;
	if (sorted && n)
		qsort_r(sorted, n, sizeof(*sorted), compare_by, row_of);
	return sorted;
}

/* The first of `sorted` whose row is not less. */
static size_t first_of(const uint32_t *sorted, size_t n, const uint32_t *row_of, uint32_t row)
{
	size_t low = 0, high = n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (row_of[sorted[middle]] < row)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int compare_units(const void *a, const void *b, void *rows)
{
	const struct profile_units *x = &((const struct profile_units *)rows)[*(const uint32_t *)a];
	const struct profile_units *y = &((const struct profile_units *)rows)[*(const uint32_t *)b];
	if (x->module != y->module)
		return x->module < y->module ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* Rows of samples and traffic; a sample that was not counted is in no function here. */
static bool find_rows(struct finder *finder, const struct model_threads *threads)
{
	const struct profile *profile = finder->profile;
	struct model_uncounted cause;
	for (size_t i = 0; i < profile->n_samples; i++) {
		const struct profile_sample *sample = &profile->samples[i];
		finder->sample_rows[i] = PROFILE_NONE;
		if (sample->frame == PROFILE_NONE)
			continue;
		const struct profile_frame *frame = &profile->frames[sample->frame];
		size_t row = model_row_at(finder->rows, frame->module, frame->offset, NULL);
		if (!model_is_uncounted(threads, row, sample->thread, &cause))
			finder->sample_rows[i] = (uint32_t)row;
	}
	for (size_t i = 0; i < profile->n_traffic; i++)
		finder->traffic_rows[i] =
			(uint32_t)model_row_at(finder->rows, profile->traffic[i].module,
					       profile->traffic[i].offset, NULL);
	finder->samples = sorted_by(finder->sample_rows, profile->n_samples);
	finder->traffic = sorted_by(finder->traffic_rows, profile->n_traffic);
	return finder->samples && finder->traffic;
}

static bool finder_init(struct finder *finder, const struct model_threads *threads)
{
	const struct profile *profile = finder->profile;
	finder->executions = calloc(profile->n_blocks + 1, sizeof(*finder->executions));
	finder->units = malloc((profile->n_units + 1) * sizeof(*finder->units));
	finder->sample_rows = malloc((profile->n_samples + 1) * sizeof(*finder->sample_rows));
	finder->traffic_rows = malloc((profile->n_traffic + 1) * sizeof(*finder->traffic_rows));
	if (!finder->executions || !finder->units || !finder->sample_rows || !finder->traffic_rows)
		return false;
	for (size_t i = 0; i < profile->n_counts; i++) {
		int64_t *sum = &finder->executions[profile->counts[i].block];
		*sum = add_clamped(*sum, profile->counts[i].n);
	}
	for (size_t i = 0; i < profile->n_units; i++)
		finder->units[i] = (uint32_t)i;
	if (profile->n_units)
		qsort_r(finder->units, profile->n_units, sizeof(*finder->units), compare_units,
			profile->units);
	for (size_t b = 0; b < profile->n_blocks; b++)
		if (finder->executions[b] && !add_pieces(finder, (uint32_t)b))
			return false;
	if (finder->n_pieces)
		qsort(finder->pieces, finder->n_pieces, sizeof(*finder->pieces), compare_pieces);
	finder->cost = model_sample_cost(profile);
	return find_rows(finder, threads);
}

static void search_deinit(struct search *search)
{
	free(search->number);
	free(search->low);
	free(search->part);
	free(search->on_stack);
	free(search->stack);
	free(search->visits);
	free(search->member);
	*search = (struct search){0};
}

static void finder_deinit(struct finder *finder)
{
	free(finder->pieces);
	free(finder->executions);
	free(finder->samples);
	free(finder->sample_rows);
	free(finder->traffic);
	free(finder->traffic_rows);
	free(finder->units);
	free(finder->nodes);
	free(finder->members);
	free(finder->tasks);
}

/* ---- the graph of one function ---- */

static bool add_nodes(struct finder *finder, const struct piece *piece)
{
	const struct profile_block *block = &finder->profile->blocks[piece->block];
	for (uint32_t at = piece->from; at < piece->to;) {
		struct work work;
		if (!work_of_bytes(block->bytes + at, block->size - at, &work) || work.length == 0)
			break;
		struct branch branch = {BRANCH_NONE,
					0}; /* only a block's last instruction can be one */
		if (at + work.length == block->size)
			branch = branch_of_bytes(block->bytes + at, block->size - at,
						 block->start + at);
		struct node node = {
			.offset = block->start + at,
			.n = finder->executions[piece->block],
			.target = branch.target,
			.block = piece->block,
			.at = at,
			.kind = branch.kind,
			.length = work.length,
			.starts_block = at == 0,
			.loop = PROFILE_NONE,
		};
		if (!rf_array_push(finder->nodes, finder->n_nodes, finder->cap_nodes, node))
			return false;
		at += work.length;
	}
	return true;
}

static int compare_nodes(const void *a, const void *b)
{
	const struct node *x = a, *y = b;
	return (x->offset > y->offset) - (x->offset < y->offset);
}

/* Sorts; an instruction that stands in several blocks becomes one node. */
static void merge_nodes(struct finder *finder)
{
	size_t kept = 0;
	if (finder->n_nodes)
		qsort(finder->nodes, finder->n_nodes, sizeof(*finder->nodes), compare_nodes);
	for (size_t i = 0; i < finder->n_nodes; i++) {
		struct node *next = &finder->nodes[i],
			    *last = kept ? &finder->nodes[kept - 1] : NULL;
		if (last && last->offset == next->offset) {
			last->n = add_clamped(last->n, next->n);
			last->starts_block |= next->starts_block;
		} else {
			finder->nodes[kept++] = *next;
		}
	}
	finder->n_nodes = kept;
}

/* How many nodes are at or before the offset. */
static size_t nodes_before(const struct finder *finder, uint64_t offset)
{
	size_t low = 0, high = finder->n_nodes;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (finder->nodes[middle].offset <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static uint32_t node_at(const struct finder *finder, uint64_t offset)
{
	size_t n = nodes_before(finder, offset);
	return n && finder->nodes[n - 1].offset == offset ? (uint32_t)(n - 1) : NO_NODE;
}

/* The node whose bytes hold the offset. */
static const struct node *node_around(const struct finder *finder, uint64_t offset)
{
	size_t n = nodes_before(finder, offset);
	const struct node *node = n ? &finder->nodes[n - 1] : NULL;
	return node && offset - node->offset < node->length ? node : NULL;
}

static bool goes_on(enum branch_kind kind)
{
	return kind == BRANCH_NONE || kind == BRANCH_CONDITIONAL;
}

static void link_backward(struct finder *finder)
{
	const size_t n = finder->n_nodes;
	uint32_t *first = finder->first_edge;
	for (size_t i = 0; i < n; i++)
		for (int k = 0; k < 2; k++)
			if (finder->edges[i].to[k] != NO_NODE)
				first[finder->edges[i].to[k] + 1]++;
	for (size_t i = 0; i < n; i++)
		first[i + 1] += first[i];
	for (size_t i = n; i-- > 0;)
		for (int k = 0; k < 2; k++)
			if (finder->edges[i].to[k] != NO_NODE)
				finder->edges_to[--first[finder->edges[i].to[k] + 1]] = (uint32_t)i;
	/* first[i + 1] is now where node i starts */
	memmove(first, first + 1, n * sizeof(*first));
	first[n] = 0;
	for (size_t i = 0; i < n; i++)
		for (int k = 0; k < 2; k++)
			first[n] += finder->edges[i].to[k] != NO_NODE;
}

static bool link_nodes(struct finder *finder)
{
	const size_t n = finder->n_nodes;
	finder->edges = malloc((n + 1) * sizeof(*finder->edges));
	finder->first_edge = calloc(n + 2, sizeof(*finder->first_edge));
	finder->edges_to = malloc((2 * n + 1) * sizeof(*finder->edges_to));
	finder->orphans = malloc((n + 1) * sizeof(*finder->orphans));
	finder->n_orphans = 0;
	if (!finder->edges || !finder->first_edge || !finder->edges_to || !finder->orphans)
		return false;
	for (size_t i = 0; i < n; i++) {
		const struct node *node = &finder->nodes[i];
		bool direct = node->kind == BRANCH_CONDITIONAL || node->kind == BRANCH_JUMP;
		finder->edges[i] = (struct edges){
			{goes_on(node->kind) ? node_at(finder, node->offset + node->length)
					     : NO_NODE,
			 direct ? node_at(finder, node->target) : NO_NODE}};
	}
	link_backward(finder);
	for (size_t i = 1; i < n; i++) /* the first is the function's entry */
		if (finder->first_edge[i] == finder->first_edge[i + 1] &&
		    finder->nodes[i].starts_block)
			finder->orphans[finder->n_orphans++] = (uint32_t)i;
	return true;
}

/* The k-th node behind `from`, or NO_NODE; false when there is no k-th. */
static bool edge_of(const struct finder *finder, uint32_t from, uint32_t k, uint32_t *to)
{
	if (k < 2) {
		*to = finder->edges[from].to[k];
		return true;
	}
	if (finder->nodes[from].kind != BRANCH_INDIRECT || k - 2 >= finder->n_orphans)
		return false;
	*to = finder->orphans[k - 2];
	return true;
}

/* ---- connected parts ---- */

static bool search_init(struct search *search, size_t n)
{
	*search = (struct search){
		.number = calloc(n + 1, sizeof(*search->number)),
		.low = calloc(n + 1, sizeof(*search->low)),
		.part = calloc(n + 1, sizeof(*search->part)),
		.on_stack = calloc(n + 1, sizeof(bool)),
		.stack = malloc((n + 1) * sizeof(*search->stack)),
		.visits = malloc((n + 1) * sizeof(*search->visits)),
		.member = calloc(n + 1, sizeof(*search->member)),
	};
	return search->number && search->low && search->part && search->on_stack && search->stack &&
	       search->visits && search->member;
}

static void enter(struct search *search, uint32_t node)
{
	search->number[node] = search->low[node] = ++search->next;
	search->on_stack[node] = true;
	search->stack[search->n_stack++] = node;
	search->visits[search->n_visits++] = (struct visit){node, 0};
}

static void lower(uint32_t *value, uint32_t to)
{
	*value = to < *value ? to : *value;
}

static bool has_edge(const struct finder *finder, uint32_t from, uint32_t to)
{
	uint32_t next;
	for (uint32_t k = 0; edge_of(finder, from, k, &next); k++)
		if (next == to)
			return true;
	return false;
}

static bool new_loop(struct finder *finder, const struct task *task, size_t first, size_t n);

/* The part that ends with `root` is complete: a loop when it goes round. */
static bool take_part(struct finder *finder, const struct task *task, uint32_t root)
{
	struct search *search = &finder->search;
	size_t n = 0, first = finder->n_members;
	uint32_t node;
	do {
		node = search->stack[--search->n_stack];
		search->on_stack[node] = false;
		if (!rf_array_push(finder->members, finder->n_members, finder->cap_members, node))
			return false;
		n++;
	} while (node != root);
	if (n > 1 || has_edge(finder, root, root))
		return new_loop(finder, task, first, n);
	finder->n_members = first;
	return true;
}

/* All parts that can be reached from `start` within the task's set. */
static bool search_from(struct finder *finder, const struct task *task, uint32_t start)
{
	struct search *search = &finder->search;
	enter(search, start);
	while (search->n_visits) {
		struct visit *visit = &search->visits[search->n_visits - 1];
		uint32_t node = visit->node, to;
		if (edge_of(finder, node, visit->edge, &to)) {
			visit->edge++;
			if (to == NO_NODE || search->part[to] != search->stamp)
				continue;
			if (!search->number[to])
				enter(search, to);
			else if (search->on_stack[to])
				lower(&search->low[node], search->number[to]);
			continue;
		}
		if (search->low[node] == search->number[node] && !take_part(finder, task, node))
			return false;
		if (--search->n_visits)
			lower(&search->low[search->visits[search->n_visits - 1].node],
			      search->low[node]);
	}
	return true;
}

static bool take_apart(struct finder *finder, const struct task *task)
{
	struct search *search = &finder->search;
	search->stamp++;
	search->next = 0;
	for (size_t i = 0; i < task->n; i++) {
		uint32_t node = finder->members[task->first + i];
		search->part[node] = search->stamp;
		search->number[node] = 0;
	}
	for (size_t i = 0; i < task->n; i++) {
		uint32_t node = finder->members[task->first + i];
		if (!search->number[node] && !search_from(finder, task, node))
			return false;
	}
	return true;
}

/* ---- loops ---- */

static int compare_numbers(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return (x > y) - (x < y);
}

/* From outside of the members, which are marked: by an edge, as the function's entry, or by who
 * knows what. */
static bool is_entered(const struct finder *finder, uint32_t node)
{
	if (node == 0 || finder->first_edge[node] == finder->first_edge[node + 1])
		return true;
	for (uint32_t i = finder->first_edge[node]; i < finder->first_edge[node + 1]; i++)
		if (finder->search.member[finder->edges_to[i]] != finder->search.n_loops)
			return true;
	return false;
}

/* How often control went from one node to the next; false where the counts do not tell. */
static bool edge_count(const struct finder *finder, uint32_t from, uint32_t to, int64_t *n)
{
	const struct node *node = &finder->nodes[from];
	const uint32_t *ways = finder->edges[from].to;
	const uint32_t other = ways[0] == to ? ways[1] : ways[0];
	*n = node->n;
	if (node->kind == BRANCH_INDIRECT)
		return false;
	if (node->kind != BRANCH_CONDITIONAL || other == to)
		return true;
	if (other == NO_NODE) { /* never executed, unless the way leads out of the function */
		const struct profile_function *f = &finder->profile->functions[finder->row];
		const uint64_t place = ways[0] == to ? node->target : node->offset + node->length;
		return place >= f->start && place < f->end;
	}
	if (other == 0 || finder->first_edge[other + 1] - finder->first_edge[other] != 1)
		return false;
	*n -= finder->nodes[other].n;
	return *n >= 0;
}

/* From the ways into the header, those from outside or, where these are not known, those from
 * within.  Members are marked. */
static int64_t entries_of(const struct finder *finder, uint32_t header)
{
	int64_t sums[2] = {0, 0}, n; /* from outside, from within */
	bool known[2] = {header != 0, true};
	for (uint32_t i = finder->first_edge[header]; i < finder->first_edge[header + 1]; i++) {
		const uint32_t from = finder->edges_to[i];
		const bool within = finder->search.member[from] == finder->search.n_loops;
		if (edge_count(finder, from, header, &n))
			sums[within] = add_clamped(sums[within], n);
		else
			known[within] = false;
	}
	if (finder->n_orphans && finder->first_edge[header] == finder->first_edge[header + 1])
		known[0] = false;
	const int64_t turns = finder->nodes[header].n;
	if (known[0] && sums[0] > 0 && sums[0] <= turns)
		return sums[0];
	return known[1] && sums[1] < turns ? turns - sums[1] : -1;
}

/* Index of the first member that is entered from outside; the first where none is. */
static size_t find_header(struct finder *finder, const uint32_t *members, size_t n)
{
	finder->search.n_loops++;
	for (size_t i = 0; i < n; i++)
		finder->search.member[members[i]] = finder->search.n_loops;
	for (size_t i = 0; i < n; i++)
		if (is_entered(finder, members[i]))
			return i;
	return 0;
}

static bool new_loop(struct finder *finder, const struct task *task, size_t first, size_t n)
{
	struct model_function *function = finder->function;
	uint32_t *members = finder->members + first;
	qsort(members, n, sizeof(*members), compare_numbers);
	size_t at = find_header(finder, members, n);
	const struct node *header = &finder->nodes[members[at]],
			  *last = &finder->nodes[members[n - 1]];
	struct model_loop loop = {
		.parent = task->loop,
		.start = finder->nodes[members[0]].offset,
		.end = last->offset + last->length,
		.header = header->offset,
		.turns = header->n,
		.entries = entries_of(finder, members[at]),
	};
	const uint32_t index = (uint32_t)function->n_loops;
	if (!rf_array_push(function->loops, function->n_loops, function->cap_loops, loop))
		return false;
	for (size_t i = 0; i < n; i++)
		finder->nodes[members[i]].loop = index;
	if (n == 1 || task->depth + 1 >= MAX_NEST)
		return true;
	members[at] = members[n - 1]; /* the header is not in what is taken apart */
	struct task inner = {index, first, n - 1, task->depth + 1};
	return rf_array_push(finder->tasks, finder->n_tasks, finder->cap_tasks, inner);
}

static bool find_in_function(struct finder *finder)
{
	finder->n_members = finder->n_tasks = 0;
	for (size_t i = 0; i < finder->n_nodes; i++)
		if (!rf_array_push(finder->members, finder->n_members, finder->cap_members,
				   (uint32_t)i))
			return false;
	struct task all = {PROFILE_NONE, 0, finder->n_nodes, 0};
	if (!rf_array_push(finder->tasks, finder->n_tasks, finder->cap_tasks, all))
		return false;
	for (size_t i = 0; i < finder->n_tasks; i++) { /* which adds tasks */
		struct task task = finder->tasks[i];
		if (!take_apart(finder, &task))
			return false;
	}
	return true;
}

/* ---- what they did ---- */

static size_t first_units(const struct finder *finder, uint64_t offset)
{
	size_t low = 0, high = finder->profile->n_units;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct profile_units *units = &finder->profile->units[finder->units[middle]];
		if (units->module < finder->module ||
		    (units->module == finder->module && units->offset < offset))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void add_units(const struct finder *finder, const struct node *node, const struct work *work,
		      struct tally *tally)
{
	struct tally unit;
	model_tally_unit(work, &unit);
	for (size_t i = first_units(finder, node->offset); i < finder->profile->n_units; i++) {
		const struct profile_units *units = &finder->profile->units[finder->units[i]];
		if (units->module != finder->module || units->offset != node->offset)
			return;
		model_tally_add(tally, &unit, units->n < INT64_MAX ? (int64_t)units->n : INT64_MAX);
	}
}

static void add_work(struct finder *finder)
{
	for (size_t i = 0; i < finder->n_nodes; i++) {
		const struct node *node = &finder->nodes[i];
		const struct profile_block *block = &finder->profile->blocks[node->block];
		struct work work;
		struct tally once = {0};
		if (node->loop == PROFILE_NONE ||
		    !work_of_bytes(block->bytes + node->at, block->size - node->at, &work))
			continue;
		struct tally *tally = &finder->function->loops[node->loop].tally;
		model_tally_fixed(&once, &work);
		model_tally_add(tally, &once, node->n > 0 ? node->n : 0);
		if (work.units != UNITS_NONE)
			add_units(finder, node, &work, tally);
	}
}

static struct model_loop *loop_around(const struct finder *finder, uint64_t offset)
{
	const struct node *node = node_around(finder, offset);
	return node && node->loop != PROFILE_NONE ? &finder->function->loops[node->loop] : NULL;
}

static void add_time(struct finder *finder, uint32_t row)
{
	const struct profile *profile = finder->profile;
	const size_t n = profile->n_samples;
	for (size_t i = first_of(finder->samples, n, finder->sample_rows, row);
	     i < n && finder->sample_rows[finder->samples[i]] == row; i++) {
		const struct profile_sample *sample = &profile->samples[finder->samples[i]];
		struct model_loop *loop =
			loop_around(finder, profile->frames[sample->frame].offset);
		if (!loop)
			continue;
		loop->n_samples++;
		if (__builtin_add_overflow(loop->time_ns, model_sample_weight(sample, finder->cost),
					   &loop->time_ns))
			loop->time_ns = UINT64_MAX;
	}
}

static void add_lines(struct traffic_lines *sum, const struct traffic_lines *part)
{
	for (int k = 0; k < CACHE_CLASSES; k++)
		for (int e = 0; e < N_TRAFFIC; e++)
			sum->by_class[k][e] += part->by_class[k][e];
}

static bool add_traffic(struct finder *finder, uint32_t row)
{
	const struct profile *profile = finder->profile;
	struct model_function *function = finder->function;
	const size_t n = profile->n_traffic;
	struct traffic_lines *lines = calloc(function->n_loops, sizeof(*lines));
	if (!lines)
		return false;
	for (size_t i = first_of(finder->traffic, n, finder->traffic_rows, row);
	     i < n && finder->traffic_rows[finder->traffic[i]] == row; i++) {
		const struct profile_traffic *traffic = &profile->traffic[finder->traffic[i]];
		struct model_loop *loop = loop_around(finder, traffic->offset);
		if (loop && traffic->class < finder->model->traced_classes)
			model_add_lines(&lines[loop - function->loops], traffic);
	}
	for (size_t i = function->n_loops; i-- > 0;) {
		struct model_loop *loop = &function->loops[i];
		if (loop->parent != PROFILE_NONE)
			add_lines(&lines[loop->parent], &lines[i]);
		loop->bytes = model_bytes_of(&lines[i], finder->model->traced_classes);
	}
	free(lines);
	return true;
}

/* Loops hold what the loops within them hold. */
static void add_to_parents(struct model_function *function)
{
	for (size_t i = function->n_loops; i-- > 0;) {
		const struct model_loop *loop = &function->loops[i];
		if (loop->parent == PROFILE_NONE)
			continue;
		struct model_loop *parent = &function->loops[loop->parent];
		model_tally_add(&parent->tally, &loop->tally, 1);
		parent->n_samples += loop->n_samples;
		if (__builtin_add_overflow(parent->time_ns, loop->time_ns, &parent->time_ns))
			parent->time_ns = UINT64_MAX;
	}
}

static bool fill_loops(struct finder *finder, uint32_t row)
{
	if (!finder->function->n_loops)
		return true;
	add_work(finder);
	add_time(finder, row);
	add_to_parents(finder->function);
	return !finder->model->traced || add_traffic(finder, row);
}

/* Says which code is in which loop, for sums over that code. */
static bool keep_code(const struct finder *finder, uint32_t row)
{
	struct model *model = finder->kept;
	for (size_t i = 0; i < finder->n_nodes; i++) {
		const struct node *node = &finder->nodes[i];
		struct model_loop_code *last =
			model->n_loop_code ? &model->loop_code[model->n_loop_code - 1] : NULL;
		struct model_loop_code code = {finder->module, row, node->loop, node->offset,
					       node->offset + node->length};
		if (node->loop == PROFILE_NONE)
			continue;
		if (last && last->function == row && last->loop == node->loop &&
		    last->end == node->offset)
			last->end = code.end;
		else if (!rf_array_push(model->loop_code, model->n_loop_code, model->cap_loop_code,
					code))
			return false;
	}
	return true;
}

/* The function whose pieces are [first, first + n). */
static bool look_at(struct finder *finder, const struct piece *pieces, size_t n)
{
	bool done = true;
	finder->function = &finder->rows->rows[pieces->row];
	finder->row = pieces->row;
	finder->module = finder->profile->blocks[pieces->block].module;
	finder->n_nodes = 0;
	for (size_t i = 0; i < n && done; i++)
		done = add_nodes(finder, &pieces[i]);
	merge_nodes(finder);
	done = done && search_init(&finder->search, finder->n_nodes) && link_nodes(finder) &&
	       find_in_function(finder) && fill_loops(finder, pieces->row) &&
	       keep_code(finder, pieces->row);
	search_deinit(&finder->search);
	free(finder->edges);
	free(finder->first_edge);
	free(finder->edges_to);
	free(finder->orphans);
	finder->edges = NULL;
	finder->first_edge = finder->edges_to = finder->orphans = NULL;
	return done;
}

bool model_find_loops(struct model_rows *rows, const struct model_threads *threads,
		      struct model *model)
{
	struct finder finder = {
		.rows = rows, .profile = rows->profile, .model = model, .kept = model};
	bool done = finder_init(&finder, threads);
	for (size_t i = 0, n; done && i < finder.n_pieces; i += n) {
		const uint32_t row = finder.pieces[i].row;
		for (n = 1; i + n < finder.n_pieces && finder.pieces[i + n].row == row;)
			n++;
		if (row < rows->profile->n_functions) /* code without a name is no function */
			done = look_at(&finder, &finder.pieces[i], n);
	}
	finder_deinit(&finder);
	return done;
}
