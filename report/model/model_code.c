/* Reads the code of a function for what its time may be due to.
 *
 * Chains: the most frequent way through an innermost loop is followed for some turns, and for each
 * register it is noted when its value is there at the earliest, on a processor that has no limit
 * but the latency of each instruction.  The time between two turns is then that of the longest
 * chain that goes from turn to turn; no processor of any width can be faster. */
#include "report/model/model_code.h"

#include "base/array.h"
#include "report/model/model_processes.h"
#include "report/model/model_tally.h"

#include <stdlib.h>
#include <string.h>

#define TURNS 16      /* that are followed; the first half lets the chains get going */
#define MAX_WAY 4096  /* instructions of a turn; longer ones are not followed */
#define MAX_CELLS 32  /* places in memory that a loop stores to and loads from */
#define LEAST_CHAIN 2 /* cycles a turn: any loop counts its turns in one */

/* When a value is there, in cycles, and the chain that it comes from. */
struct value {
	uint32_t at;
	uint32_t cycles[STEP_KINDS];
	uint32_t loads;
	bool memory;      /* the chain passes through memory */
	uint32_t product; /* the node that made it, if that multiplies, or FLOW_NONE */
};

struct cell {
	struct memory_place place;
	struct value value;
};

/* What the values are while code is followed. */
struct tracker {
	struct value registers[N_REGISTERS];
	struct cell cells[MAX_CELLS];
	size_t n_cells;
	uint32_t top;              /* of the x87 stack */
	bool written[N_REGISTERS]; /* anywhere in a turn */
};

struct reader {
	const struct flow_graph *graph;
	const struct profile_function *code;
	struct model_function *function;
	struct dataflow *flows; /* per node */
	uint32_t *way;          /* nodes of a turn */
	bool *has_within;       /* per loop: there are loops in it */
	uint64_t longest;       /* cycles of the chain whose kind is told */
};

/* ---- values ---- */

static uint8_t renamed(const struct tracker *tracker, uint8_t number)
{
	return number < REGISTER_X87 || number >= REGISTER_FLAGS
		       ? number
		       : (uint8_t)(REGISTER_X87 + (number - REGISTER_X87 + tracker->top) % 8);
}

/* Where the place is one that keeps its address from turn to turn; else NULL. */
static struct cell *cell_of(struct tracker *tracker, const struct flow_node *node,
			    const struct dataflow *flow)
{
	const struct memory_place place =
		memory_place_at(flow->memory, node->offset + node->length);
	if ((place.base != NO_REGISTER && tracker->written[place.base]) ||
	    (place.index != NO_REGISTER && tracker->written[place.index]))
		return NULL;
	for (size_t i = 0; i < tracker->n_cells; i++)
		if (memory_place_same(&tracker->cells[i].place, &place))
			return &tracker->cells[i];
	if (tracker->n_cells == MAX_CELLS)
		return NULL;
	tracker->cells[tracker->n_cells] =
		(struct cell){.place = place, .value.product = FLOW_NONE};
	return &tracker->cells[tracker->n_cells++];
}

static void take_later(struct value *latest, const struct value *value)
{
	if (value->at > latest->at)
		*latest = *value;
}

static void add_steps(struct value *value, enum step_kind kind, uint32_t cycles)
{
	value->at += cycles;
	value->cycles[kind] += cycles;
}

static bool writes_general(const struct dataflow *flow)
{
	return flow->n_writes > 0 && flow->writes[0] < REGISTER_VECTOR;
}

/* The latest of what the instruction works with. */
static struct value source_of(struct tracker *tracker, const struct flow_node *node,
			      const struct dataflow *flow)
{
	struct value latest = {.product = FLOW_NONE};
	for (unsigned i = 0; i < flow->n_reads; i++)
		take_later(&latest, &tracker->registers[renamed(tracker, flow->reads[i])]);
	if (!flow->loads)
		return latest;
	const uint8_t address[] = {flow->memory.base, flow->memory.index};
	const struct cell *cell = cell_of(tracker, node, flow);
	for (unsigned i = 0; i < 2; i++) {
		struct value loaded = {0};
		if (address[i] == NO_REGISTER)
			continue;
		loaded = tracker->registers[address[i]];
		if (loaded.at > 0) {
			add_steps(&loaded, STEP_LOAD, LOAD_LATENCY);
			loaded.loads++;
		}
		take_later(&latest, &loaded);
	}
	if (cell && cell->value.at > 0) {
		struct value loaded = cell->value;
		if (!writes_general(flow))
			add_steps(&loaded, STEP_LOAD, FORWARD_LATENCY);
		loaded.memory = true;
		take_later(&latest, &loaded);
	}
	return latest;
}

/* Callees keep rbx, rbp and r12 to r15; what they return is not known to come from anything. */
static void forget_registers(struct tracker *tracker)
{
	static const bool kept[16] = {[3] = true,  [4] = true,  [5] = true, [12] = true,
				      [13] = true, [14] = true, [15] = true};
	for (unsigned i = 0; i < N_REGISTERS; i++)
		if (i >= 16 || !kept[i])
			tracker->registers[i] = (struct value){.product = FLOW_NONE};
}

/* Follows one instruction. */
static void follow(struct tracker *tracker, const struct flow_node *node,
		   const struct dataflow *flow)
{
	struct value value = source_of(tracker, node, flow);
	add_steps(&value, flow->kind, flow->latency);
	if (flow->calls)
		forget_registers(tracker);
	tracker->top += flow->pushed > 0 ? 7 : 0;
	for (unsigned i = 0; i < flow->n_writes; i++)
		tracker->registers[renamed(tracker, flow->writes[i])] = value;
	struct cell *cell = flow->stores ? cell_of(tracker, node, flow) : NULL;
	if (cell)
		cell->value = value;
	tracker->top += flow->pushed < 0 ? (uint32_t)-flow->pushed : 0;
}

static const struct value *latest_of(const struct tracker *tracker)
{
	const struct value *latest = &tracker->registers[0];
	for (unsigned i = 1; i < N_REGISTERS; i++)
		if (tracker->registers[i].at > latest->at)
			latest = &tracker->registers[i];
	for (size_t i = 0; i < tracker->n_cells; i++)
		if (tracker->cells[i].value.at > latest->at)
			latest = &tracker->cells[i].value;
	return latest;
}

/* ---- chains ---- */

/* The most frequent way from the loop's header back to it; 0: there is none that can be followed.
 */
static size_t find_way(const struct reader *reader, uint32_t loop)
{
	const struct flow_graph *graph = reader->graph;
	const uint32_t header = flow_node_at(graph, reader->function->loops[loop].header);
	size_t n = 0;
	for (uint32_t at = header; at != FLOW_NONE && n < MAX_WAY;) {
		uint32_t next = FLOW_NONE;
		reader->way[n++] = at;
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

/* What is so much in `part` turns, in so many; a file can claim any number of them. */
static uint64_t times(uint32_t in_part, int64_t turns, int64_t part)
{
	uint64_t all = 0;
	model_count_add(&all, in_part, turns / part);
	model_count_add(&all, (uint64_t)in_part * (uint64_t)(turns % part) / (uint64_t)part, 1);
	return all;
}

static void note_chain(struct reader *reader, struct model_loop *loop, const struct value *value,
		       uint32_t cycles)
{
	struct profile_sum_code *code = &reader->function->code;
	const int64_t turns = loop->turns > 0 ? loop->turns : 0;
	const uint64_t all = times(cycles, turns, TURNS / 2);
	loop->chain_cycles = all;
	model_count_add(&code->chain_cycles, all, 1);
	model_count_add(&code->chain_turns, 1, turns);
	if (value->loads >= TURNS / 2)
		model_count_add(&code->chased_loads, times(value->loads, turns, TURNS), 1);
	if (all <= reader->longest)
		return;
	reader->longest = all;
	code->chain_in_memory = value->memory;
	code->chain_kind = STEP_INTEGER;
	for (uint32_t k = 1; k < STEP_KINDS; k++)
		if (value->cycles[k] > value->cycles[code->chain_kind])
			code->chain_kind = k;
}

static void find_chain(struct reader *reader, uint32_t index)
{
	const struct flow_graph *graph = reader->graph;
	const size_t n = find_way(reader, index);
	struct tracker tracker = {0};
	uint32_t half = 0;
	for (size_t i = 0; i < n; i++) {
		const struct dataflow *flow = &reader->flows[reader->way[i]];
		for (unsigned w = 0; w < flow->n_writes; w++)
			tracker.written[flow->writes[w]] = true;
	}
	for (unsigned i = 0; i < N_REGISTERS; i++)
		tracker.registers[i].at = 1; /* so that what comes from a register is told */
	for (unsigned turn = 0; n && turn < TURNS; turn++) {
		if (turn == TURNS / 2)
			half = latest_of(&tracker)->at;
		for (size_t i = 0; i < n; i++)
			follow(&tracker, &graph->nodes[reader->way[i]],
			       &reader->flows[reader->way[i]]);
	}
	const struct value *latest = latest_of(&tracker);
	if (latest->at >= half + LEAST_CHAIN * TURNS / 2)
		note_chain(reader, &reader->function->loops[index], latest, latest->at - half);
}

/* ---- products that are added ---- */

static bool is_product(const struct work *work)
{
	return work->flop_lanes && work->flop_kind == FLOP_MUL &&
	       work->flop_precision != PRECISION_X87;
}

/* An addition to a product of its own shape: what both do. */
static uint64_t fused(const struct reader *reader, const struct tracker *tracker, uint32_t node,
		      bool *used)
{
	const struct dataflow *add = &reader->flows[node];
	const struct flow_node *nodes = reader->graph->nodes;
	for (unsigned i = 0; add->adds && i < add->n_reads; i++) {
		const uint32_t product = tracker->registers[add->reads[i]].product;
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
	struct tracker tracker;
	if (!used)
		return rf_error_no_memory();
	for (uint32_t i = 0; i < graph->n_nodes; i++) {
		const struct dataflow *flow = &reader->flows[i];
		uint32_t product = is_product(&flow->work) ? i : FLOW_NONE;
		if (i == 0 || graph->to[2 * (size_t)(i - 1)] != i)
			for (unsigned r = 0; r < N_REGISTERS; r++)
				tracker.registers[r].product = FLOW_NONE;
		model_count_add(&reader->function->code.fusible_flop,
				fused(reader, &tracker, i, used), 1);
		if (flow->copies && !flow->loads && flow->n_reads == 1)
			product = tracker.registers[flow->reads[0]].product;
		for (unsigned w = 0; w < flow->n_writes; w++)
			tracker.registers[flow->writes[w]].product = product;
	}
	free(used);
	return NULL;
}

/* ---- branches ---- */

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

/* ---- loops ---- */

static void read_loop(struct reader *reader, uint32_t index)
{
	struct profile_sum_code *code = &reader->function->code;
	const struct model_loop *loop = &reader->function->loops[index];
	if (reader->has_within[index])
		return;
	find_chain(reader, index);
	if (loop->entries <= 0 || loop->turns / MODEL_SHORT_LOOP >= loop->entries)
		return;
	add_positive(&code->short_turns, loop->turns);
	add_positive(&code->short_entries, loop->entries);
	model_add_ns(&code->short_ns, loop->time_ns);
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
				.has_within = calloc(function->n_loops + 1, sizeof(bool))};
	struct rf_error *error =
		reader.flows && reader.way && reader.has_within ? NULL : rf_error_no_memory();
	function->code = (struct profile_sum_code){0};
	for (uint32_t i = 0; !error && i < graph->n_nodes; i++) {
		const struct flow_node *node = &graph->nodes[i];
		const struct profile_block *block = &profile->blocks[node->block];
		const struct dataflow *flow =
			insn_cache_dataflow(insns, block->bytes + node->at, block->size - node->at);
		reader.flows[i] = flow ? *flow : nothing;
		count_branch(&reader, i);
	}
	for (size_t i = 0; !error && i < function->n_loops; i++)
		if (function->loops[i].parent != PROFILE_NONE)
			reader.has_within[function->loops[i].parent] = true;
	for (uint32_t i = 0; !error && i < function->n_loops; i++)
		read_loop(&reader, i);
	error = error ?: find_fusible(&reader) ?: add_pauses(&reader);
	free(reader.flows);
	free(reader.way);
	free(reader.has_within);
	return error;
}

/* ---- waiting ---- */

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

bool model_waits(const struct model_function *function)
{
	if (function->time_ns == 0)
		return false;
	for (size_t i = 0; i < sizeof(polling) / sizeof(*polling); i++)
		if (strncmp(function->module, polling[i].name, strlen(polling[i].name)) == 0 &&
		    polls(&function->tally, polling[i].by_calls))
			return true;
	return function->code.pause_ns > function->time_ns / 2;
}
