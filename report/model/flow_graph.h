/* The control flow graph of a function, from the blocks of it that were executed, and the loops in
 * it.  It has an
 * instruction for a node.  Calls come back.  What an indirect jump leads to is not in the code:
 * each place that was executed and that nothing else leads to may be it. */
#pragma once

#include "base/sort_by.h"
#include "insn/flow.h"
#include "profile/profile.h"
#include "report/model/model.h"

#define FLOW_NONE UINT32_MAX /* no node */

struct flow_node {
	uint64_t offset;
	int64_t n;          /* executions */
	uint64_t target;    /* of a direct branch */
	uint32_t block, at; /* where its bytes are */
	enum branch_kind kind;
	uint8_t length;
	bool starts_block;
	uint32_t loop; /* the innermost, or PROFILE_NONE */
};

struct flow_graph {
	struct flow_node *nodes; /* by their offset, the first `n_own` of them */
	size_t n_nodes, cap_nodes;
	/* Of the function itself, once it is linked; behind them is code that was put in where it
	 * calls it. */
	size_t n_own;
	/* the two ways on from node i: to[2 i] and to[2 i + 1]; FLOW_NONE: there is none, or it
	 * leads out of the function */
	uint32_t *to;
	struct by_key before; /* the ways that lead to a node, places in `to` */
	size_t n_orphans;     /* what indirect jumps may lead to: all those */
};

/* Adds the instructions of bytes [from, to) of a block that was executed `n` times.  Fails only
 * when memory is short, as all of this. */
struct rf_error *flow_graph_add(struct flow_graph *graph, const struct profile *profile,
				uint32_t block, uint32_t from, uint32_t to, int64_t n);
/* Links the nodes, after all were added, and adds the loops of `function`, the outer ones before
 * those within and these together, in the order of what they are in, to function->loops: where they
 * are, how often they turned and were entered.  Each node of the graph gets its innermost loop.
 * `code`: the function's own row in the profile. */
struct rf_error *flow_graph_find_loops(struct flow_graph *graph,
				       const struct profile_function *code,
				       struct model_function *function);
/* Back to a graph without nodes; keeps their memory for the next one. */
void flow_graph_clear(struct flow_graph *graph);
void flow_graph_deinit(struct flow_graph *graph);

/* How often control went from one node of the function `code` to the next; false where the counts
 * do not tell. */
bool flow_edge_count(const struct flow_graph *graph, const struct profile_function *code,
		     uint32_t from, uint32_t to, int64_t *n);
/* Sets graph->before anew, after `to` was changed.  Fails only when memory is short. */
struct rf_error *flow_graph_link_back(struct flow_graph *graph);
/* The function's own node at the offset, or FLOW_NONE. */
uint32_t flow_graph_node_at(const struct flow_graph *graph, uint64_t offset);
/* The same, whose bytes hold the offset, or NULL. */
const struct flow_node *flow_node_around(const struct flow_graph *graph, uint64_t offset);
/* The executions of all these nodes together. */
double flow_graph_executions(const struct flow_graph *graph, const uint32_t *nodes, size_t n);
/* The most frequent way through a turn of an innermost loop: its nodes from the header at that
 * offset on, in `way`, which has room for `most`.  0: there is none of so many that comes back. */
size_t flow_graph_way(const struct flow_graph *graph, uint32_t loop, uint64_t header, uint32_t *way,
		      size_t most);
/* The most frequent way from where that loop is left, whose turn is `way`, through the own code of
 * the loop around it, `outer`, until it is entered again, in `around`.  0: there is none of at most
 * `most` nodes that comes back, or it leads through another loop. */
size_t flow_graph_way_around(const struct flow_graph *graph, uint32_t outer, const uint32_t *way,
			     size_t n_way, uint32_t *around, size_t most);
/* a + b, or the limit that it would be beyond. */
int64_t flow_add(int64_t a, int64_t b);
