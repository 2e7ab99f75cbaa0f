/* Recurrences of a turn, with latencies that were measured (insn/recurrence.h finds the longest).
 */
#include "report/in_core/core_chain.h"

#include "insn/recurrence.h"
#include "report/in_core/core_latency.h"
#include "report/in_core/under_way.h"

#include <stdlib.h>
#include <string.h>

#define MAX_WAY 4096 /* instructions of a turn whose chain is looked for */

struct reader {
	const struct core_facts *facts;
	const struct in_core_code *code;
};

/* ---- a turn ---- */

struct way {
	uint32_t nodes[MAX_WAY];
	struct dataflow flows[MAX_WAY];
	struct recurrence_step steps[MAX_WAY];
	bool written[N_REGISTERS];           /* in a turn */
	enum step_kind made_by[N_REGISTERS]; /* by what its value was made last */
};

static bool is_still(const struct way *way, const struct memory_place *place)
{
	return (place->base == NO_REGISTER || !way->written[place->base]) &&
	       (place->index == NO_REGISTER || !way->written[place->index]);
}

#define MOST_TURNS 8 /* back to a store */

/* Sets which step's store the load of step `i` was seen to come behind: of those of that
 * instruction the last but `since` before it, going round. */
static void set_store(const struct reader *reader, struct way *way, size_t n, size_t i,
		      const struct stored_load *seen)
{
	const struct flow_graph *graph = reader->code->graph;
	unsigned since = seen->since, turns = 0;
	size_t at = i;
	while (turns <= MOST_TURNS) {
		turns += at == 0;
		at = at == 0 ? n - 1 : at - 1;
		const struct flow_node *node = &graph->nodes[way->nodes[at]];
		if (node->offset != seen->store_offset ||
		    reader->code->profile->blocks[node->block].module != seen->store_module)
			continue;
		if (since-- == 0) {
			way->steps[i].stored_by = (uint32_t)at + 1;
			way->steps[i].stored_turns = turns;
			return;
		}
	}
}

/* Whether the instruction loads, computes with a register, and stores. */
static bool updates_by_register(const struct dataflow *flow)
{
	const uint8_t with = flow->parts.form.operands[1];
	return flow->loads && flow->stores && with != KIND_NONE && with < KIND_I8;
}

/* From the store to a load of the same place that has all its bytes from it; `indexed`: the address
 * of one of them has an index. */
static double forward_whole(const struct core_facts *facts, const struct way *way,
			    const struct dataflow *flow, bool indexed)
{
	const bool vector = flow->parts.load > ACCESS_GENERAL;
	if (flow->stores && (indexed || updates_by_register(flow)) && !isnan(facts->forward_update))
		return facts->forward_update;
	if (indexed && !isnan(facts->forward_indexed[vector]))
		return facts->forward_indexed[vector];
	return is_still(way, &flow->memory) ? facts->forward_still[vector] : facts->forward[vector];
}

/* From the store that the load of a step comes behind to what it loads; vectors: longer by as much
 * as their loads are. */
static double forward_cycles(const struct core_facts *facts, const struct way *way, size_t i,
			     const struct stored_load *seen)
{
	const struct dataflow *flow = &way->flows[i];
	const uint32_t store = way->steps[i].stored_by;
	const bool vector = flow->parts.load > ACCESS_GENERAL;
	const bool indexed = flow->memory.index != NO_REGISTER ||
			     (store && way->flows[store - 1].memory.index != NO_REGISTER);
	const double more = vector ? fmax(0, facts->load[1] - facts->load[0]) : 0;
	if (seen->blocks && facts->blocked > 0)
		return facts->blocked + (isnan(more) ? 0 : more);
	if ((seen->shifts || (flow->work.load_bytes > 0 && flow->work.load_bytes < 4)) && !vector &&
	    facts->forward_part > 0)
		return facts->forward_part;
	return forward_whole(facts, way, flow, indexed);
}

static void set_steps(const struct reader *reader, struct way *way, size_t n)
{
	static const struct dataflow nothing = {
		.memory = {.base = NO_REGISTER, .index = NO_REGISTER}};
	const struct core_facts *facts = reader->facts;
	bool wide = false;
	for (size_t i = 0; i < n; i++) {
		const struct dataflow *flow = core_dataflow_at(reader->code, way->nodes[i]);
		way->flows[i] = flow ? *flow : nothing;
		/* what is called is on the way itself, or it is not known what it does */
		way->flows[i].calls &= way->nodes[i + 1 < n ? i + 1 : 0] == way->nodes[i] + 1;
		wide |= core_is_wide(&way->flows[i].parts.form);
		for (unsigned w = 0; w < way->flows[i].n_writes; w++)
			way->written[way->flows[i].writes[w]] = true;
	}
	for (size_t i = 0; i < n; i++) {
		const struct flow_node *node = &reader->code->graph->nodes[way->nodes[i]];
		const struct dataflow *flow = &way->flows[i];
		const double load = core_load_cycles(facts, flow);
		const uint32_t module = reader->code->profile->blocks[node->block].module;
		const struct stored_load seen =
			stored_load_at(flow->loads ? reader->code->stored : NULL, module,
				       node->offset);
		way->steps[i] = (struct recurrence_step){.flow = flow,
							 .end = node->offset + node->length,
							 .load = core_ticks(load)};
		if (seen.store_module == module)
			set_store(reader, way, n, i, &seen);
		const double forward = forward_cycles(facts, way, i, &seen);
		way->steps[i].forward = core_ticks(isnan(forward) ? load : forward);
		core_latencies(facts, flow, wide, way->steps[i].latency);
	}
}

static void note_makers(struct way *way, const struct dataflow *flow)
{
	for (unsigned w = 0; w < flow->n_writes; w++)
		way->made_by[flow->writes[w]] = flow->parts.form.mnemonic ? flow->kind : STEP_LOAD;
}

/* Adds what forms take longer for results of others.  The first time round finds what has made the
 * values that the turn begins with. */
static void add_apart(const struct core_facts *facts, struct way *way, size_t n)
{
	for (size_t i = 0; i < 2 * n; i++) {
		const struct dataflow *flow = &way->flows[i % n];
		const struct form_fact *fact = core_facts_find(facts, flow->parts.form);
		struct recurrence_step *step = &way->steps[i % n];
		for (unsigned r = 0; r < flow->n_reads && fact && i >= n; r++)
			if (way->made_by[flow->reads[r]] != flow->kind &&
			    way->made_by[flow->reads[r]] != STEP_LOAD)
				step->latency[flow->read_as[r]] += core_ticks(fact->apart);
		note_makers(way, flow);
	}
}

/* Cycles of the longest recurrence of a turn of `n` nodes of `way`; loads (may be NULL): those that
 * it goes through. */
static struct rf_error *chain_of_nodes(const struct reader *reader, struct way *way, size_t n,
				       double *cycles, double *loads)
{
	struct recurrence chain;
	memset(way->written, 0, sizeof(way->written));
	memset(way->made_by, 0, sizeof(way->made_by));
	set_steps(reader, way, n);
	add_apart(reader->facts, way, n);
	struct rf_error *error = recurrence_find(way->steps, n, &chain);
	const bool found = !error && chain.turns;
	*cycles = found ? (double)chain.cycles / chain.turns / CORE_TICKS : 0;
	if (loads)
		*loads = found ? (double)chain.loads / chain.turns : 0;
	return error;
}

static size_t way_of(const struct reader *reader, uint32_t loop, struct way *way)
{
	const struct in_core_code *code = reader->code;
	return flow_graph_way(code->graph, loop, code->function->loops[loop].header, way->nodes,
			      MAX_WAY);
}

static struct rf_error *chain_of_way(const struct reader *reader, uint32_t loop, double *cycles,
				     double *loads)
{
	struct way *way = calloc(1, sizeof(*way));
	if (!way)
		return rf_error_no_memory();
	struct rf_error *error =
		chain_of_nodes(reader, way, way_of(reader, loop, way), cycles, loads);
	free(way);
	return error;
}

/* ---- a chain through the entries of a loop ---- */

/* The way of a loop `turns` times, and around it to its next entry, in `way`; 0: not known. */
static size_t way_of_entry(const struct reader *reader, uint32_t loop, size_t turns,
			   struct way *way)
{
	const uint32_t outer = reader->code->function->loops[loop].parent;
	const size_t n = way_of(reader, loop, way);
	uint32_t *nodes = way->nodes;
	if (!n || turns >= MAX_WAY / n)
		return 0;
	const size_t around = flow_graph_way_around(reader->code->graph, outer, nodes, n,
						    &nodes[n * turns], MAX_WAY - n * turns);
	for (size_t turn = 1; turn < turns; turn++)
		memcpy(&nodes[n * turn], nodes, n * sizeof(*nodes));
	return around ? n * turns + around : 0;
}

/* By how many cycles a turn of the loop makes the longest recurrence of the loop around it longer:
 * what is carried through all of its entries, so that none can begin before the last has ended.  0
 * where nothing is, or nobody knows. */
static struct rf_error *chain_through_entries(const struct reader *reader, uint32_t loop,
					      double *cycles)
{
	const struct model_loop *of = &reader->code->function->loops[loop];
	const size_t turns = (size_t)rint((double)of->turns / (double)of->entries);
	double one = 0, all = 0;
	*cycles = 0;
	if (of->parent == PROFILE_NONE || turns < 2)
		return NULL;
	struct way *way = calloc(1, sizeof(*way));
	if (!way)
		return rf_error_no_memory();
	const size_t n = way_of_entry(reader, loop, turns, way);
	struct rf_error *error = n ? chain_of_nodes(reader, way, n, &all, NULL) : NULL;
	if (n && !error)
		error = chain_of_nodes(reader, way, way_of_entry(reader, loop, 1, way), &one, NULL);
	*cycles = fmax(0, (all - one) / (double)(turns - 1));
	free(way);
	return error;
}

/* What is left of a chain that begins anew with each entry where the loop is left after a few
 * turns: the chains of as many entries run beside each other as fit into the reorder buffer. */
static double beside_each_other(const struct in_core_code *code, uint32_t loop, double instructions,
				double chain)
{
	const struct model_loop *of = &code->function->loops[loop];
	const double buffer = ecm_reorder_buffer(code->profile);
	if (of->entries <= 0 || of->turns <= 0)
		return chain;
	const double in_entry = instructions * (double)of->turns / (double)of->entries;
	return in_entry < buffer ? chain * in_entry / buffer : chain;
}

static double instructions_of(const struct in_core_code *code, uint32_t loop)
{
	double all = 0;
	for (uint32_t i = 0; i < code->graph->n_nodes; i++)
		if (code->graph->nodes[i].n > 0 &&
		    core_is_within(code->function, code->graph->nodes[i].loop, loop))
			all += (double)code->graph->nodes[i].n;
	return all / (double)code->function->loops[loop].turns;
}

/* Loops within come behind those that they are in. */
static struct rf_error *find_chain(const struct reader *reader, uint32_t loop,
				   struct core_chain *chain)
{
	const struct model_function *function = reader->code->function;
	struct rf_error *error = NULL;
	bool innermost = true;
	*chain = (struct core_chain){0};
	for (uint32_t i = loop + 1; i < function->n_loops && !error; i++) {
		struct core_chain within;
		if (function->loops[i].parent != loop || function->loops[i].turns <= 0)
			continue;
		innermost = false;
		error = find_chain(reader, i, &within);
		const double turns =
			(double)function->loops[i].turns / (double)function->loops[loop].turns;
		chain->lcd += within.lcd * turns;
		chain->left += within.left * turns;
	}
	if (error || !innermost)
		return error;
	error = chain_of_way(reader, loop, &chain->lcd, &chain->loads);
	chain->left = beside_each_other(reader->code, loop, instructions_of(reader->code, loop),
					chain->lcd);
	if (error || chain->left >= chain->lcd)
		return error;
	double through;
	error = chain_through_entries(reader, loop, &through);
	chain->left = fmin(chain->lcd, fmax(chain->left, through));
	return error;
}

struct rf_error *core_chain(const struct core_facts *facts, const struct in_core_code *code,
			    uint32_t loop, struct core_chain *chain)
{
	const struct reader reader = {facts, code};
	return find_chain(&reader, loop, chain);
}
