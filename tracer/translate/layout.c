/* Puts the blocks of a batch in order, finds the junctions between them, and chooses those that
 * need no counter. */
#include "tracer/translate/layout.h"

#include "base/array.h"
#include "base/assert.h"
#include "tracer/translate/derive.h"

#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH 7 /* of loops in each other, as weights know them */
#define STATIC_WEIGHTS (2 * (MAX_DEPTH + 1))

/* ---- blocks ---- */

static size_t block_length(const struct plan *plan, size_t first)
{
	size_t i = first;
	while (plan->items[i].insn.flow == FLOW_NEXT && !plan->items[i].last_of_run &&
	       !plan->items[i + 1].leader)
		i++;
	return i - first + 1;
}

static struct rf_error *add_block(struct layout *layout, const struct plan *plan, size_t first,
				  size_t n, bool is_rest)
{
	const struct layout_block block = {
		.first = (uint32_t)first,
		.n = (uint16_t)n,
		.is_rest = is_rest,
		.first_of_run = is_rest || first == 0 || plan->items[first - 1].last_of_run,
	};
	const bool ok =
		rf_array_push(layout->blocks, layout->n_blocks, layout->cap_blocks, block) &&
		u64_map_set(&layout->block_of_pc, plan->items[first].insn.pc,
			    (uint32_t)layout->n_blocks - 1);
	return ok ? NULL : rf_error_no_memory();
}

/* The rests of a loop, from each place in it where control enters. */
static struct rf_error *add_rests(struct layout *layout, const struct plan *plan,
				  const struct layout_block *loop)
{
	const size_t first = loop->first + 1u, end = (size_t)loop->first + loop->n;
	struct rf_error *error = NULL;
	for (size_t i = first; !error && i < end; i++)
		if (plan->items[i].leader)
			error = add_block(layout, plan, i, end - i, true);
	return error;
}

/* Compilers often enter a loop that is one block in its middle: it is one block nevertheless, so
 * that its counter can stay in a register, and what begins in its middle becomes another block,
 * with a copy of the rest. */
static struct rf_error *add_blocks(struct layout *layout, const struct plan *plan)
{
	struct rf_error *error = NULL;
	for (size_t i = 0, n; !error && i < plan->n_items; i += n) {
		n = plan_loop_length(plan, i, plan->items[i].insn.pc);
		n = n ? n : block_length(plan, i);
		error = add_block(layout, plan, i, n, false);
	}
	for (size_t b = 0, n = layout->n_blocks; !error && b < n; b++) {
		const struct layout_block block = layout->blocks[b];
		error = add_rests(layout, plan, &block);
	}
	return error;
}

static const struct decoded *last_insn(const struct plan *plan, const struct layout_block *block)
{
	return &plan->items[block->first + block->n - 1u].insn;
}

/* ---- junctions ----
 *
 * The ends and beginnings of blocks are nodes; control that goes from one to the other makes them
 * one. Sets of nodes are trees of parents (Galler and Fischer 1964), halved as they are climbed. */

static uint32_t root_of(uint32_t *parent, uint32_t node)
{
	while (parent[node] != node)
		node = parent[node] = parent[parent[node]];
	return node;
}

static bool unite(uint32_t *parent, uint32_t a, uint32_t b)
{
	a = root_of(parent, a);
	b = root_of(parent, b);
	parent[a > b ? a : b] = a > b ? b : a; /* so that OUTSIDE stays a root */
	return a != b;
}

static uint32_t in_node(size_t block)
{
	return 1 + 2 * (uint32_t)block;
}

static uint32_t out_node(size_t block)
{
	return 2 + 2 * (uint32_t)block;
}

/* The beginning of the block at pc, or OUTSIDE. */
static uint32_t node_at(const struct layout *layout, uint64_t pc)
{
	const uint32_t *block = u64_map_find(&layout->block_of_pc, pc);
	return block ? in_node(*block) : OUTSIDE;
}

/* Control goes to pc behind a block. */
static void unite_flow(const struct layout *layout, uint32_t *parent, size_t b, uint64_t pc)
{
	const uint32_t node = node_at(layout, pc);
	if (node != OUTSIDE || !layout->counts_exits)
		unite(parent, out_node(b), node);
}

/* Where control goes behind a block. */
static void unite_behind(const struct layout *layout, uint32_t *parent, size_t b,
			 const struct decoded *last)
{
	const uint64_t next = last->pc + last->length;
	switch ((enum flow)last->flow) {
	case FLOW_NEXT:
		unite_flow(layout, parent, b, next);
		break;
	case FLOW_JUMP:
	case FLOW_XBEGIN:
		unite_flow(layout, parent, b, last->target);
		break;
	case FLOW_BRANCH:
	case FLOW_LOOP:
		unite_flow(layout, parent, b, last->target);
		unite_flow(layout, parent, b, next);
		break;
	default: /* what comes back behind it need not do so as often as it ran */
		unite(parent, out_node(b), OUTSIDE);
		unite(parent, node_at(layout, next), OUTSIDE);
		break;
	}
}

bool layout_is_plt(const struct plan *plan, const struct layout_block *block)
{
	const struct decoded *last = last_insn(plan, block);
	return block->n <= MAX_PLT_INSNS && last->flow == FLOW_JUMP_INDIRECT && last->rip_relative;
}

/* A block that others enter directly, without a way that counts them.  Into hot code from elsewhere
 * such ways are rarely taken; and there are links to all its blocks where it was laid out before.
 */
static bool is_open(const struct plan *plan, const struct code_cache *cache,
		    const struct layout_block *block)
{
	const struct planned *first = &plan->items[block->first];
	return block->first == 0 || first->is_kernel || layout_is_plt(plan, block) ||
	       (!plan->hot &&
		code_cache_find(cache, &cache->links_to, first->insn.pc) != NOT_THERE);
}

/* `parent`, `number`: room for two nodes of each block, and OUTSIDE. */
static struct rf_error *find_junctions(struct layout *layout, const struct plan *plan,
				       struct code_cache *cache, uint32_t *parent, uint32_t *number)
{
	for (uint32_t i = 0; i <= 2 * layout->n_blocks; i++)
		parent[i] = i;
	for (size_t b = 0; b < layout->n_blocks; b++) {
		unite_behind(layout, parent, b, last_insn(plan, &layout->blocks[b]));
		if (is_open(plan, cache, &layout->blocks[b]))
			unite(parent, in_node(b), OUTSIDE);
	}
	struct rf_error *error = NULL;
	for (uint32_t node = 1; !error && node <= 2 * layout->n_blocks; node++) {
		const uint32_t b = (node - 1) / 2, root = root_of(parent, node);
		struct layout_block *block = &layout->blocks[b];
		if (root != OUTSIDE && !number[root])
			error = derive_add_junction(cache, &number[root]);
		*(node == in_node(b) ? &block->in : &block->out) = number[root];
	}
	return error;
}

/* ---- which blocks have a counter ---- */

/* Blocks without a place where the status flags are dead, or a transfer that borrows a register
 * anyway, take five instructions to count, others one or three. */
static bool is_costly(const struct plan *plan, const struct layout_block *block)
{
	const uint8_t flow = last_insn(plan, block)->flow;
	for (size_t i = 0; i < block->n; i++)
		if (plan->items[block->first + i].dead & DEAD_ARITHMETIC)
			return false;
	return flow != FLOW_RETURN && flow != FLOW_JUMP_INDIRECT && flow != FLOW_CALL_INDIRECT &&
	       flow != FLOW_SYSCALL;
}

static void deepen(struct layout *layout, const struct plan *plan, uint64_t from, uint64_t to)
{
	for (size_t b = 0; b < layout->n_blocks; b++) {
		struct layout_block *block = &layout->blocks[b];
		const uint64_t pc = plan->items[block->first].insn.pc;
		if (pc >= from && pc <= to && block->weight + 2 < STATIC_WEIGHTS)
			block->weight += 2;
	}
}

/* By their executions; to count a costly one takes about twice as long. */
static void weigh_hot(struct layout *layout, const struct plan *plan)
{
	for (size_t b = 0; b < layout->n_blocks; b++) {
		struct layout_block *block = &layout->blocks[b];
		block->weight =
			(uint16_t)(hot_code_weight(plan->hot, plan->items[block->first].insn.pc) +
				   (is_costly(plan, block) ? HOT_DOUBLED : 0));
	}
}

/* Branches backward are taken for loops. */
static void weigh(struct layout *layout, const struct plan *plan)
{
	for (size_t b = 0; b < layout->n_blocks; b++)
		layout->blocks[b].weight = is_costly(plan, &layout->blocks[b]);
	for (size_t b = 0; b < layout->n_blocks; b++) {
		const struct decoded *last = last_insn(plan, &layout->blocks[b]);
		const bool is_direct = last->flow == FLOW_JUMP || last->flow == FLOW_BRANCH ||
				       last->flow == FLOW_LOOP;
		if (is_direct && last->target <= last->pc &&
		    node_at(layout, last->target) != OUTSIDE)
			deepen(layout, plan, last->target, last->pc);
	}
}

/* Two blocks may share one call (transfer.c); a thread that is stopped there must be known to have
 * been counted, which for a derived block is told by its being past the first instruction
 * (interrupt.c). */
static bool is_lone_call(const struct plan *plan, const struct layout_block *block)
{
	const uint8_t flow = last_insn(plan, block)->flow;
	return block->n == 1 && (flow == FLOW_CALL || flow == FLOW_CALL_INDIRECT);
}

/* The heaviest spanning tree: blocks by weight, those left out that would close a circle (Kruskal
 * 1956). `parent`: room for the junctions from `first` on, and OUTSIDE. */
static void choose_derived(struct layout *layout, const struct plan *plan, uint32_t *parent,
			   uint32_t first, size_t n_junctions)
{
	for (uint32_t i = 0; i <= n_junctions; i++)
		parent[i] = i;
	int heaviest = 0;
	for (size_t b = 0; b < layout->n_blocks; b++)
		if (layout->blocks[b].weight > heaviest)
			heaviest = layout->blocks[b].weight;
	for (int weight = heaviest; weight >= 0; weight--)
		for (size_t b = 0; b < layout->n_blocks; b++) {
			struct layout_block *block = &layout->blocks[b];
			if (block->weight == weight && !is_lone_call(plan, block))
				block->is_derived =
					unite(parent, block->in ? block->in - first + 1 : OUTSIDE,
					      block->out ? block->out - first + 1 : OUTSIDE);
		}
}

/* The derived blocks of a junction: how many, and the exclusive or of their numbers. */
struct meeting {
	uint32_t n, blocks;
};

static struct meeting *meeting_of(struct meeting *meetings, uint32_t junction, uint32_t first)
{
	return &meetings[junction ? junction - first + 1 : OUTSIDE];
}

/* Follows the tree from a junction where all blocks but one are known toward its root. */
static struct rf_error *order_from(const struct layout *layout, struct code_cache *cache,
				   struct meeting *meetings, uint32_t first, uint32_t junction)
{
	while (junction != OUTSIDE && meeting_of(meetings, junction, first)->n == 1) {
		struct meeting *here = meeting_of(meetings, junction, first);
		const uint32_t b = here->blocks;
		const struct layout_block *block = &layout->blocks[b];
		const bool at_in = block->in == junction;
		const struct derived derived = {(uint32_t)cache->n_blocks + b, at_in};
		if (!rf_array_push(cache->derived, cache->n_derived, cache->cap_derived, derived))
			return rf_error_no_memory();
		here->n = 0;
		junction = at_in ? block->out : block->in;
		struct meeting *there = meeting_of(meetings, junction, first);
		there->n--;
		there->blocks ^= b;
	}
	return NULL;
}

/* Every derived block must get its turn: else some junction has no balance. */
static struct rf_error *order_derived(const struct layout *layout, struct code_cache *cache,
				      struct meeting *meetings, uint32_t first)
{
	size_t n_ordered = cache->n_derived;
	for (uint32_t b = 0; b < layout->n_blocks; b++) {
		const struct layout_block *block = &layout->blocks[b];
		if (!block->is_derived)
			continue;
		struct meeting *const ends[2] = {meeting_of(meetings, block->in, first),
						 meeting_of(meetings, block->out, first)};
		for (int i = 0; i < 2; i++) {
			ends[i]->n++;
			ends[i]->blocks ^= b;
		}
		n_ordered++;
	}
	struct rf_error *error = NULL;
	for (uint32_t j = first; !error && j < cache->n_junctions; j++)
		error = order_from(layout, cache, meetings, first, j);
	assert(error || cache->n_derived == n_ordered);
	return error;
}

struct rf_error *layout_build(struct layout *layout, const struct plan *plan,
			      struct code_cache *cache)
{
	*layout = (struct layout){.counts_exits = plan->hot != NULL};
	struct rf_error *error = add_blocks(layout, plan);
	if (error)
		return error;
	const size_t n_nodes = 2 * layout->n_blocks + 1;
	const uint32_t first = cache->n_junctions ? (uint32_t)cache->n_junctions : OUTSIDE + 1;
	uint32_t *parent = malloc(n_nodes * sizeof(*parent));
	uint32_t *number = calloc(n_nodes, sizeof(*number));
	struct meeting *meetings = calloc(n_nodes, sizeof(*meetings));
	error = parent && number && meetings ? find_junctions(layout, plan, cache, parent, number)
					     : rf_error_no_memory();
	if (!error) {
		if (plan->hot)
			weigh_hot(layout, plan);
		else
			weigh(layout, plan);
		choose_derived(layout, plan, parent, first, n_nodes - 1);
		error = order_derived(layout, cache, meetings, first);
	}
	free(parent);
	free(number);
	free(meetings);
	return error;
}

void layout_deinit(struct layout *layout)
{
	free(layout->blocks);
	u64_map_deinit(&layout->block_of_pc);
	*layout = (struct layout){0};
}

uint32_t layout_junction(const struct layout *layout, uint64_t pc)
{
	const uint32_t *block = u64_map_find(&layout->block_of_pc, pc);
	return block ? layout->blocks[*block].in : OUTSIDE;
}
