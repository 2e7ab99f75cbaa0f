/* Reads the code of a function for what its time may be due to.
 *
 * Chains: the most frequent way through an innermost loop has a longest recurrence
 * (insn/recurrence.h) on a processor that has no limit but the least latency of each instruction;
 * no processor of any width can be faster. */
#include "report/model/model_code.h"

#include "base/array.h"
#include "base/search.h"
#include "insn/recurrence.h"
#include "report/model/model_processes.h"
#include "report/model/model_tally.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#define MAX_WAY 4096  /* instructions of a turn; longer ones are not followed */
#define LEAST_CHAIN 2 /* cycles a turn: any loop counts its turns in one */

struct reader {
	const struct flow_graph *graph;
	const struct profile_function *code;
	struct model_function *function;
	struct dataflow *flows;        /* per node */
	uint32_t *way;                 /* nodes of a turn */
	struct recurrence_step *steps; /* the same, with their least latencies */
	bool *has_within;              /* per loop: there are loops in it */
	uint64_t longest;              /* cycles of the chain whose kind is told */
};

/* ---- chains ---- */

/* What is so much in `part` turns, in so many; a file can claim any number of them. */
static uint64_t times(uint64_t in_part, int64_t turns, int64_t part)
{
	uint64_t all = 0;
	model_count_add(&all, in_part, turns / part);
	model_count_add(&all, in_part * (uint64_t)(turns % part) / (uint64_t)part, 1);
	return all;
}

static void note_chain(struct reader *reader, struct model_loop *loop,
		       const struct recurrence *chain)
{
	struct profile_sum_code *code = &reader->function->code;
	const int64_t turns = loop->turns > 0 ? loop->turns : 0;
	const uint64_t all = times(chain->cycles, turns, chain->turns);
	loop->chain_cycles = all;
	model_count_add(&code->chain_cycles, all, 1);
	model_count_add(&code->chain_turns, 1, turns);
	if (2 * chain->loads >= chain->turns)
		model_count_add(&code->chased_loads, times(chain->loads, turns, chain->turns), 1);
	if (all <= reader->longest)
		return;
	reader->longest = all;
	code->chain_in_memory = chain->memory;
	code->chain_kind = STEP_INTEGER;
	for (uint32_t k = 1; k < STEP_KINDS; k++)
		if (chain->by_kind[k] > chain->by_kind[code->chain_kind])
			code->chain_kind = k;
}

static bool writes_general(const struct dataflow *flow)
{
	return flow->n_writes > 0 && flow->writes[0] < REGISTER_VECTOR;
}

static struct recurrence_step least_step(const struct flow_node *node, const struct dataflow *flow)
{
	struct recurrence_step step = {.flow = flow,
				       .end = node->offset + node->length,
				       .load = LOAD_LATENCY,
				       .forward = writes_general(flow) ? 0 : FORWARD_LATENCY};
	for (unsigned i = 0; i <= FORM_OPERANDS; i++)
		step.latency[i] = flow->latency;
	return step;
}

static struct rf_error *find_chain(struct reader *reader, uint32_t index)
{
	const struct flow_graph *graph = reader->graph;
	const size_t n = flow_graph_way(graph, index, reader->function->loops[index].header,
					reader->way, MAX_WAY);
	struct recurrence chain;
	for (size_t i = 0; i < n; i++)
		reader->steps[i] =
			least_step(&graph->nodes[reader->way[i]], &reader->flows[reader->way[i]]);
	struct rf_error *error = recurrence_find(reader->steps, n, &chain);
	if (!error && chain.turns && chain.cycles >= (uint64_t)LEAST_CHAIN * chain.turns)
		note_chain(reader, &reader->function->loops[index], &chain);
	return error;
}

/* ---- products that are added ---- */

static bool is_product(const struct work *work)
{
	return work->flop_lanes && work->flop_kind == FLOP_MUL &&
	       work->flop_precision != PRECISION_X87;
}

/* An addition to a product of its own shape: what both do.  `products`: per register, the node that
 * made its value, if that multiplies, or FLOW_NONE. */
static uint64_t fused(const struct reader *reader, const uint32_t *products, uint32_t node,
		      bool *used)
{
	const struct dataflow *add = &reader->flows[node];
	const struct flow_node *nodes = reader->graph->nodes;
	for (unsigned i = 0; add->adds && i < add->n_reads; i++) {
		const uint32_t product = products[add->reads[i]];
		const struct work *made =
			product != FLOW_NONE ? &reader->flows[product].work : NULL;
		if (!made || used[product] || made->flop_precision != add->work.flop_precision ||
		    made->flop_lanes != add->work.flop_lanes)
			continue;
		const int64_t n =
			nodes[product].n < nodes[node].n ? nodes[product].n : nodes[node].n;
		used[product] = true;
		uint64_t flop = 0;
		model_count_add(&flop, 2 * (uint64_t)add->work.flop_lanes, n > 0 ? n : 0);
		return flop;
	}
	return 0;
}

/* Goes through the code as it stands; values are lost where control comes from elsewhere. */
static struct rf_error *find_fusible(struct reader *reader)
{
	const struct flow_graph *graph = reader->graph;
	bool *used = calloc(graph->n_nodes + 1, sizeof(*used));
	uint32_t products[N_REGISTERS];
	if (!used)
		return rf_error_no_memory();
	for (uint32_t i = 0; i < graph->n_nodes; i++) {
		const struct dataflow *flow = &reader->flows[i];
		uint32_t product = is_product(&flow->work) ? i : FLOW_NONE;
		if (i == 0 || graph->to[2 * (size_t)(i - 1)] != i)
			for (unsigned r = 0; r < N_REGISTERS; r++)
				products[r] = FLOW_NONE;
		model_count_add(&reader->function->code.fusible_flop,
				fused(reader, products, i, used), 1);
		if (flow->copies && !flow->loads && flow->n_reads == 1)
			product = products[flow->reads[0]];
		for (unsigned w = 0; w < flow->n_writes; w++)
			products[flow->writes[w]] = product;
	}
	free(used);
	return NULL;
}

/* ---- branches ---- */

double model_mispredicted(const struct profile *profile, uint32_t module, uint64_t offset)
{
	const struct profile_branch *rows = profile->branches;
	const size_t at = rf_search(profile->n_branches, i,
				    rows[i].module < module ||
					    (rows[i].module == module && rows[i].offset < offset));
	const bool known = at < profile->n_branches && rows[at].module == module &&
			   rows[at].offset == offset && rows[at].share > 0;
	return known ? (double)rows[at].executions * fmin(1, rows[at].share) : 0;
}

/* Counts below 0 are none. */
static void add_positive(uint64_t *sum, int64_t n)
{
	model_count_add(sum, 1, n > 0 ? n : 0);
}

static bool is_within(const struct flow_graph *graph, uint32_t to, uint32_t loop)
{
	return to != FLOW_NONE && graph->nodes[to].loop == loop;
}

static void count_taken(struct reader *reader, const struct flow_node *node, int64_t n)
{
	add_positive(&reader->function->code.taken, n);
	if (node->loop != PROFILE_NONE)
		add_positive(&reader->function->loops[node->loop].taken, n);
}

static void count_branch(struct reader *reader, uint32_t index)
{
	struct profile_sum_code *code = &reader->function->code;
	const struct flow_graph *graph = reader->graph;
	const struct flow_node *node = &graph->nodes[index];
	const uint32_t *to = &graph->to[2 * (size_t)index];
	int64_t taken = to[0] == FLOW_NONE ? node->n : node->n - graph->nodes[to[0]].n;
	if (node->kind != BRANCH_CONDITIONAL) {
		if (node->kind != BRANCH_NONE || reader->flows[index].calls)
			count_taken(reader, node, node->n);
		return;
	}
	const bool known =
		to[1] != FLOW_NONE && flow_edge_count(graph, reader->code, index, to[1], &taken);
	count_taken(reader, node, taken); /* at least */
	if (known && is_within(graph, to[0], node->loop) && is_within(graph, to[1], node->loop) &&
	    node->loop != PROFILE_NONE)
		add_positive(&code->rare_ways, taken < node->n - taken ? taken : node->n - taken);
}

static void count_slow(struct reader *reader, uint32_t index)
{
	const struct dataflow *flow = &reader->flows[index];
	struct profile_sum_code *code = &reader->function->code;
	const int64_t n = reader->graph->nodes[index].n;
	if (flow->kind == STEP_DIVIDE && !flow->work.flop_lanes)
		add_positive(&code->integer_divisions, n);
	if (flow->locks)
		add_positive(&code->atomic_updates, n);
}

/* ---- loops ---- */

static struct rf_error *read_loop(struct reader *reader, uint32_t index)
{
	struct profile_sum_code *code = &reader->function->code;
	const struct model_loop *loop = &reader->function->loops[index];
	if (reader->has_within[index])
		return NULL;
	struct rf_error *error = find_chain(reader, index);
	if (error || loop->entries <= 0 || loop->turns / MODEL_SHORT_LOOP >= loop->entries)
		return error;
	add_positive(&code->short_turns, loop->turns);
	add_positive(&code->short_entries, loop->entries);
	model_add_ns(&code->short_ns, loop->time_ns);
	return NULL;
}

/* Whether each turn of the innermost loop does the same as the one before, and changes nothing: it
 * reads no register that an earlier turn has written, and writes no memory.  Such a loop ends by
 * what others write into the memory that it reads: it waits for them.  `loop` is none that calls.
 */
static bool turns_in_place(const struct reader *reader, uint32_t loop)
{
	bool written[N_REGISTERS] = {false}, before[N_REGISTERS] = {false}, loads = false;
	for (uint32_t i = 0; i < reader->graph->n_nodes; i++) {
		const struct dataflow *flow = &reader->flows[i];
		if (reader->graph->nodes[i].loop != loop)
			continue;
		if (flow->stores || flow->calls || flow->work.units)
			return false;
		loads |= flow->loads;
		for (int r = 0; r < flow->n_reads; r++)
			before[flow->reads[r]] |= !written[flow->reads[r]];
		for (int w = 0; w < flow->n_writes; w++)
			written[flow->writes[w]] = true;
	}
	for (int r = 0; r < N_REGISTERS; r++)
		if (before[r] && written[r])
			return false;
	return loads;
}

/* Time in loops that wait for others, or pause; of those within each other, in the outermost. */
static struct rf_error *add_pauses(struct reader *reader)
{
	struct model_function *function = reader->function;
	bool *pauses = calloc(function->n_loops + 1, sizeof(*pauses));
	if (!pauses)
		return rf_error_no_memory();
	for (size_t i = 0; i < reader->graph->n_nodes; i++)
		if (reader->flows[i].pauses && reader->graph->nodes[i].loop != PROFILE_NONE)
			pauses[reader->graph->nodes[i].loop] = true;
	for (uint32_t i = 0; i < function->n_loops; i++)
		pauses[i] |= !reader->has_within[i] && turns_in_place(reader, i);
	for (size_t i = 0; i < function->n_loops; i++) {
		const uint32_t parent = function->loops[i].parent;
		const bool counted = parent != PROFILE_NONE && pauses[parent];
		if (pauses[i] && !counted)
			model_add_ns(&function->code.pause_ns, function->loops[i].time_ns);
		pauses[i] |= counted;
	}
	free(pauses);
	return NULL;
}

struct rf_error *model_read_code(const struct profile *profile, struct insn_cache *insns,
				 const struct flow_graph *graph,
				 const struct profile_function *code,
				 struct model_function *function)
{
	static const struct dataflow nothing = {
		.memory = {.base = NO_REGISTER, .index = NO_REGISTER}};
	struct reader reader = {.graph = graph,
				.code = code,
				.function = function,
				.flows = calloc(graph->n_nodes + 1, sizeof(*reader.flows)),
				.way = malloc(MAX_WAY * sizeof(*reader.way)),
				.steps = malloc(MAX_WAY * sizeof(*reader.steps)),
				.has_within = calloc(function->n_loops + 1, sizeof(bool))};
	struct rf_error *error = reader.flows && reader.way && reader.steps && reader.has_within
					 ? NULL
					 : rf_error_no_memory();
	function->code = (struct profile_sum_code){0};
	for (uint32_t i = 0; !error && i < graph->n_nodes; i++) {
		const struct flow_node *node = &graph->nodes[i];
		const struct profile_block *block = &profile->blocks[node->block];
		const struct dataflow *flow =
			insn_cache_dataflow(insns, block->bytes + node->at, block->size - node->at);
		reader.flows[i] = flow ? *flow : nothing;
		count_branch(&reader, i);
		count_slow(&reader, i);
	}
	for (size_t i = 0; !error && i < function->n_loops; i++)
		if (function->loops[i].parent != PROFILE_NONE)
			reader.has_within[function->loops[i].parent] = true;
	for (uint32_t i = 0; !error && i < function->n_loops; i++)
		error = read_loop(&reader, i);
	error = error ?: find_fusible(&reader) ?: add_pauses(&reader);
	free(reader.flows);
	free(reader.way);
	free(reader.steps);
	free(reader.has_within);
	return error;
}

/* ---- waiting ---- */

/* Who looks at a flag between two calls that give up the processor executes fewer than that. */
#define YIELD_INSNS 500

/* Run-time libraries of parallel programs whose barriers, locks and receives poll (module names
 * begin so).  Those that pass messages poll by calls; the others just look. */
static const struct {
	const char *name;
	bool by_calls;
} polling[] = {
	{"libgomp.so", false}, {"libomp.so", false},  {"libiomp5.so", false},
	{"libmpi", true},      {"libopen-pal", true}, {"libopen-rte", true},
	{"libpmix", true},     {"mca_", true},        {"libucp.so", true},
	{"libucs.so", true},   {"libuct", true},      {"libfabric.so", true},
	{"libpsm2.so", true},
};

/* Who looks at a flag again and again hardly stores anything; what was not counted at all took no
 * part in the work. */
static bool polls(const struct tally *tally, bool by_calls)
{
	return tally->flop == 0 && (by_calls || tally->stores * 20 <= tally->instructions);
}

/* Whether it does hardly anything but to give up the processor again and again, or is the C
 * library's function, or the kernel's row, of that. */
static bool yields(const struct profile *profile, const struct model_function *function)
{
	const struct profile_sum_call *calls = profile->sum_calls; /* by function */
	static const char *const names[] = {"[sched_yield]", "sched_yield", "__sched_yield"};
	double n = 0;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(function->name, names[i]) == 0)
			return true;
	if (function->function == PROFILE_NONE || function->tally.flop)
		return false;
	for (size_t i = rf_search(profile->n_sum_calls, k, calls[k].function < function->function);
	     i < profile->n_sum_calls && calls[i].function == function->function; i++)
		n += calls[i].number == SYS_sched_yield ? (double)calls[i].n : 0;
	return n > 0 && (double)function->tally.instructions <= YIELD_INSNS * n;
}

bool model_waits(const struct profile *profile, const struct model_function *function)
{
	if (function->time_ns == 0)
		return false;
	if (yields(profile, function))
		return true;
	for (size_t i = 0; i < sizeof(polling) / sizeof(*polling); i++)
		if (strncmp(function->module, polling[i].name, strlen(polling[i].name)) == 0 &&
		    polls(&function->tally, polling[i].by_calls))
			return true;
	return function->code.pause_ns > function->time_ns / 2;
}
