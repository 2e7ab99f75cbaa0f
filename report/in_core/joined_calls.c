/* Copies code of functions into the graph of a loop that calls them. */
#include "report/in_core/joined_calls.h"

#include "report/in_core/under_way.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_NODES 4096 /* of the graph more than the function itself has */
#define MOST_DEEP 6     /* calls within each other */
/* Instructions that leave the reorder buffer in a cycle, at most (Golden Cove and Zen 4: Intel's
 * and AMD's optimisation manuals). */
#define RETIRED 8
#define RARELY 0.02 /* of the loop's turns: calls that make no difference */

/* What is put in, and where. */
struct joiner {
	const struct function_code *functions;
	const struct call_targets *targets;
	const struct in_core_code *code;
	uint32_t loop;
	double buffer; /* instructions that are under way at most */
	struct flow_graph *graph;
	struct in_core *core;
	uint32_t within[MOST_DEEP]; /* rows of the functions that are being put in */
	size_t depth;
	bool joined, apart;  /* any call of the loop is so */
	double unknown;      /* executions of calls that cannot be followed */
	double instructions; /* of the loop itself, executed */
};

/* A call, or a jump out of a function at its end. */
struct passage {
	uint32_t row;   /* of the function that it leads to */
	uint32_t back;  /* the node behind it */
	double n;       /* executions */
	uint32_t seen;  /* what samples lie in that come this way, or PROFILE_NONE */
	uint32_t entry; /* result: the first node of what was put in */
};

enum joining { IS_JOINED, IS_APART, IS_UNKNOWN, HAS_NO_MEMORY };

/* ---- the graph ---- */

static bool make_room(struct flow_graph *graph, size_t n)
{
	struct flow_node *nodes = realloc(graph->nodes, (n + 1) * sizeof(*nodes));
	graph->nodes = nodes ? nodes : graph->nodes;
	uint32_t *to = realloc(graph->to, (2 * n + 1) * sizeof(*to));
	graph->to = to ? to : graph->to;
	return nodes && to;
}

static bool copy_graph(const struct flow_graph *from, struct flow_graph *to)
{
	if (!make_room(to, from->n_nodes + MOST_NODES))
		return false;
	memcpy(to->nodes, from->nodes, from->n_nodes * sizeof(*to->nodes));
	memcpy(to->to, from->to, 2 * from->n_nodes * sizeof(*to->to));
	to->n_nodes = from->n_nodes;
	to->n_own = from->n_own;
	to->cap_nodes = from->n_nodes + MOST_NODES;
	return true;
}

/* The nodes of a function, as part of the loop, each as often as for so many executions of it. */
static uint32_t copy_nodes(struct joiner *joiner, const struct flow_graph *from, double scale)
{
	struct flow_graph *to = joiner->graph;
	const uint32_t first = (uint32_t)to->n_nodes;
	for (size_t i = 0; i < from->n_nodes; i++) {
		struct flow_node node = from->nodes[i];
		node.n = llrint((double)node.n * scale);
		node.loop = joiner->loop;
		to->nodes[to->n_nodes++] = node;
		for (size_t k = 2 * i; k < 2 * i + 2; k++)
			to->to[2 * (size_t)first + k] =
				from->to[k] == FLOW_NONE ? FLOW_NONE : first + from->to[k];
	}
	return first;
}

/* ---- what was put in ---- */

static bool note_joined(struct in_core *core, uint32_t row, double share, double instructions)
{
	size_t i = 0;
	while (i < core->n_joined && core->joined[i].row != row)
		i++;
	if (i == MOST_JOINED)
		return false;
	if (i == core->n_joined)
		core->joined[core->n_joined++] = (struct joined_function){.row = row};
	core->joined[i].share = fmin(1, core->joined[i].share + share);
	core->joined[i].instructions += instructions;
	return true;
}

static const struct call_site *site_of(const struct joiner *joiner, const struct flow_node *node)
{
	const uint32_t module = joiner->code->profile->blocks[node->block].module;
	return call_site_at(joiner->targets, module, node->offset);
}

static enum joining join(struct joiner *joiner, struct passage *passage);

/* What a node of the function that was put in leads to out of it, if anything: another call, the
 * way back, or a jump to another function, which then goes back instead. */
static enum joining join_on(struct joiner *joiner, uint32_t index, const struct passage *from)
{
	struct flow_graph *graph = joiner->graph;
	const struct profile *profile = joiner->code->profile;
	const struct flow_node *node = &graph->nodes[index];
	const uint32_t module = profile->blocks[node->block].module;
	const struct call_site *site = node->kind == BRANCH_NONE ? site_of(joiner, node) : NULL;
	uint32_t *to = &graph->to[2 * (size_t)index];
	struct passage next = {
		.back = from->back, .n = (double)node->n, .row = PROFILE_NONE, .seen = from->seen};
	if (node->kind == BRANCH_LEAVE)
		to[0] = from->back;
	if (site) {
		next.row = call_callee(profile, site);
		next.seen = site->seen;
		next.back = to[0];
	} else if (node->kind == BRANCH_INDIRECT) { /* a stub that leads to a library */
		next.row = from->seen;
	} else if (node->kind == BRANCH_JUMP && to[1] == FLOW_NONE) {
		next.row = call_function_at(profile, module, node->target);
	} else {
		return IS_JOINED;
	}
	const enum joining done = join(joiner, &next);
	graph->to[2 * (size_t)index] = next.entry;
	return done;
}

static double instructions_of(const struct flow_graph *graph)
{
	double all = 0;
	for (size_t i = 0; i < graph->n_nodes; i++)
		all += (double)graph->nodes[i].n;
	return all;
}

/* The function, whose graph is `own`, with `entries` executions, is put in. */
static enum joining put_in(struct joiner *joiner, const struct flow_graph *own, double entries,
			   struct passage *passage)
{
	const double scale = passage->n / entries, all = instructions_of(own);
	const size_t room = joiner->graph->cap_nodes - joiner->graph->n_nodes;
	if (own->n_nodes > room || scale > 1.05 ||
	    !note_joined(joiner->core, passage->row, scale, all * scale))
		return IS_UNKNOWN;
	passage->entry = copy_nodes(joiner, own, scale);
	joiner->within[joiner->depth++] = passage->row;
	enum joining done = IS_JOINED;
	for (uint32_t i = 0; i < own->n_nodes && done == IS_JOINED; i++)
		if (own->nodes[i].n > RARELY * entries)
			done = join_on(joiner, passage->entry + i, passage);
	joiner->depth--;
	return done;
}

static bool is_within(const struct joiner *joiner, uint32_t row)
{
	for (size_t i = 0; i < joiner->depth; i++)
		if (joiner->within[i] == row)
			return true;
	return &joiner->code->profile->functions[row] == joiner->code->row;
}

/* Puts in what the passage leads to, if it is short, has no loop and does not call itself. */
static enum joining join(struct joiner *joiner, struct passage *passage)
{
	struct flow_graph own = {0};
	struct model_function function = {0};
	passage->entry = FLOW_NONE;
	if (passage->row == PROFILE_NONE || joiner->depth == MOST_DEEP ||
	    is_within(joiner, passage->row))
		return IS_UNKNOWN;
	struct rf_error *error =
		function_code_graph(joiner->functions, passage->row, &own, &function);
	enum joining done = error ? HAS_NO_MEMORY : IS_UNKNOWN;
	const uint64_t start = joiner->code->profile->functions[passage->row].start;
	const double entries =
		!error && own.n_nodes && own.nodes[0].offset == start ? (double)own.nodes[0].n : 0;
	if (entries > 0 && instructions_of(&own) / entries >= joiner->buffer)
		done = IS_APART;
	else if (entries > 0 && !function.n_loops)
		done = put_in(joiner, &own, entries, passage);
	rf_error_destroy(error);
	flow_graph_deinit(&own);
	free(function.loops);
	return done;
}

/* ---- the loop ---- */

static enum joining join_call(struct joiner *joiner, uint32_t index, const struct call_site *site)
{
	struct flow_graph *graph = joiner->graph;
	const size_t n_nodes = graph->n_nodes;
	const struct in_core before = *joiner->core;
	struct passage passage = {.row = call_callee(joiner->code->profile, site),
				  .back = graph->to[2 * (size_t)index],
				  .n = (double)graph->nodes[index].n,
				  .seen = site->seen};
	const enum joining done = join(joiner, &passage);
	if (done == IS_JOINED) {
		graph->to[2 * (size_t)index] = passage.entry;
	} else { /* with what of it was put in */
		graph->n_nodes = n_nodes;
		*joiner->core = before;
	}
	return done;
}

/* Instructions of the loop itself. */
static double own_instructions(const struct in_core_code *code, uint32_t loop)
{
	double all = 0;
	for (uint32_t i = 0; i < code->graph->n_nodes; i++)
		all += code->graph->nodes[i].loop == loop ? (double)code->graph->nodes[i].n : 0;
	return all;
}

/* Whether the loop may take less than half of what its own instructions need to be issued, since
 * they are done beside what it calls: but for the first of them behind each call, which may leave
 * the reorder buffer together with the last of the callee, they still leave it in order. */
static bool may_be_hidden(const struct joiner *joiner)
{
	if (!(joiner->unknown > 0))
		return false;
	const double from_call_to_call = joiner->instructions / joiner->unknown,
		     issued = from_call_to_call / model_issue_width(joiner->code->profile);
	return (from_call_to_call - RETIRED) / RETIRED < issued / 2;
}

/* False: memory is short. */
static bool join_all(struct joiner *joiner)
{
	const struct flow_graph *own = joiner->code->graph;
	const double turns = (double)joiner->code->function->loops[joiner->loop].turns;
	for (uint32_t i = 0; i < own->n_nodes; i++) {
		const struct flow_node *node = &own->nodes[i];
		const struct call_site *site = node->loop == joiner->loop &&
							       node->kind == BRANCH_NONE &&
							       (double)node->n > RARELY * turns
						       ? site_of(joiner, node)
						       : NULL;
		if (!site)
			continue;
		if (!joiner->graph->n_nodes && !copy_graph(own, joiner->graph))
			return false;
		const enum joining done = join_call(joiner, i, site);
		joiner->joined |= done == IS_JOINED;
		joiner->apart |= done == IS_APART;
		joiner->unknown += done == IS_UNKNOWN ? (double)node->n : 0;
		if (done == HAS_NO_MEMORY)
			return false;
	}
	return true;
}

static void conclude(struct joiner *joiner)
{
	struct in_core *core = joiner->core;
	if (may_be_hidden(joiner))
		core->calls = CALLS_UNKNOWN;
	else
		core->calls = joiner->joined                         ? CALLS_JOINED
			      : joiner->apart || joiner->unknown > 0 ? CALLS_LONG
								     : CALLS_NONE;
	if (core->calls != CALLS_JOINED) {
		flow_graph_deinit(joiner->graph);
		core->n_joined = 0;
	}
}

struct rf_error *joined_calls_put_in(const struct function_code *functions,
				     const struct call_targets *targets,
				     const struct in_core_code *code, uint32_t loop,
				     struct flow_graph *graph, struct in_core *core)
{
	struct joiner joiner = {.functions = functions,
				.targets = targets,
				.code = code,
				.loop = loop,
				.buffer = ecm_reorder_buffer(code->profile),
				.instructions = own_instructions(code, loop),
				.graph = graph,
				.core = core};
	*graph = (struct flow_graph){0};
	core->calls = CALLS_NONE;
	core->n_joined = 0;
	if (!join_all(&joiner))
		return rf_error_no_memory();
	conclude(&joiner);
	return core->calls == CALLS_JOINED ? flow_graph_link_back(graph) : NULL;
}
