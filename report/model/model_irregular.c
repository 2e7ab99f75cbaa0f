/* Loads at irregular addresses, and chains of them.
 *
 * An instruction is irregular when most steps between its addresses are (tracer/traffic/strides.h).
 * It is on a chain when the address that it loads from comes, through registers, flags or fixed
 * places in memory, from what it loaded in an earlier turn of a loop: then no processor can have
 * two of these loads under way.  Instructions that wait for each other in this way are one chain;
 * the chains of a loop run beside each other.  Chains that end after a few turns run beside those
 * of the next entry of the loop, and count as none. */
#include "report/model/model_irregular.h"

#include "base/array.h"
#include "base/search.h"
#include "report/model/model_code.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A core has some hundred instructions under way, none more than LONG_ENTRY (Golden Cove's reorder
 * buffer): chains of fewer turns overlap with the next, but where they are as many instructions. */
#define LONG_CHAIN 32
#define LONG_ENTRY 512
/* A loop with more irregular loads or code is not looked into. */
#define MOST_LOADS 64
#define MOST_NODES 4096
/* Where values are, one bit each: general registers from bit 0, vectors, the flags, and places in
 * memory, of which so many are told apart in a loop. */
#define BIT_FLAGS 48
#define BIT_PLACES 49
#define MOST_PLACES (64 - BIT_PLACES)
#define BIT_STACK_POINTER (UINT64_C(1) << 4)
/* What a call may change (System V ABI): rax, rcx, rdx, rsi, rdi, r8 … r11, vectors and flags. */
#define CHANGED_BY_CALLS (UINT64_C(0x0fc7) | ((UINT64_C(1) << BIT_PLACES) - (UINT64_C(1) << 16)))

/* Loads that took so many times less than a pattern says did not come that way.  Less is the spread
 * of the rows, of which those of latency have much: then the point is above its roof, and is shown
 * so. */
#define CONTRADICTED 1.5
/* Cycles that a load waits at each level, roughly: only to tell which of two chains takes longer.
 */
static const double rough_cycles[MODEL_LEVELS] = {5, 15, 60, 300};

/* Where an instruction reads and writes. */
struct data {
	uint64_t read, written,
		address; /* address: of `read`, what its load's address is made of */
	struct memory_place memory;
	bool loads, stores;
};

/* What is looked at. */
struct finder {
	const struct irregular_loads *loads;
	struct insn_cache *insns;
	const struct profile *profile;
	const struct flow_graph *graph;
	struct model_function *function;
	uint32_t module;
	struct data *data; /* per node, as in the loop at hand */
	uint64_t *before;  /* per node: places that hold what the source loaded */
	bool *seen;        /* per node: its chain was found in a loop within */
	uint32_t *members; /* nodes of the loop at hand */
	size_t n_members;
	struct by_key nodes;  /* by the innermost loop that they are in */
	struct by_key within; /* loops by the one around them */
	uint32_t *pending;    /* loops, or nodes: what is still to be looked at */
	bool *is_pending;     /* per node */
};

/* ---- irregular instructions ---- */

static int compare_loads(const void *a, const void *b)
{
	const struct irregular_load *x = a, *y = b;
	return rf_compare(x->module, y->module) ?: rf_compare(x->offset, y->offset);
}

static int compare_nodes(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return rf_compare(x, y);
}

static struct irregular_load *load_at(const struct irregular_loads *loads, uint32_t module,
				      uint64_t offset)
{
	const struct irregular_load key = {.module = module, .offset = offset};
	return loads->n_loads
		       ? bsearch(&key, loads->loads, loads->n_loads, sizeof(key), compare_loads)
		       : NULL;
}

struct rf_error *irregular_loads_init(struct irregular_loads *loads, const struct profile *profile,
				      const struct model *model)
{
	const double scale = model->traced ? (double)CACHE_CLASSES / model->traced_classes : 0;
	struct rf_error *error = NULL;
	*loads = (struct irregular_loads){.profile = profile};
	for (size_t i = 0; !error && model->traced && i < profile->n_strides; i++) {
		const struct profile_stride *row = &profile->strides[i];
		const struct irregular_load load = {.module = row->module, .offset = row->offset};
		if ((double)row->random > (double)row->unit + (double)row->constant)
			error = rf_array_add(loads->loads, loads->n_loads, loads->cap_loads, load);
	}
	if (loads->n_loads)
		qsort(loads->loads, loads->n_loads, sizeof(*loads->loads), compare_loads);
	struct packed_reader reader = packed_reader_of(&profile->traffic);
	const struct profile_traffic *row;
	while (!error && loads->n_loads && (row = packed_reader_next(&reader))) {
		struct irregular_load *load = load_at(loads, row->module, row->offset);
		if (!load)
			continue;
		load->reads[1] += scale * ((double)row->lines[TRAFFIC_L2_READ] +
					   (double)row->lines[TRAFFIC_L2_WRITE_ALLOCATE]);
		load->reads[2] += scale * ((double)row->lines[TRAFFIC_L3_READ] +
					   (double)row->lines[TRAFFIC_L3_WRITE_ALLOCATE]);
		/* makers' last caches hash addresses, so that what only too few places in a set
		 * have moved is there (docs/traffic.md) */
		const double memory = (double)row->lines[TRAFFIC_MEM_READ] +
				      (double)row->lines[TRAFFIC_MEM_WRITE_ALLOCATE];
		load->reads[3] +=
			scale * fmax(0, memory - (double)row->lines[TRAFFIC_MEM_CONFLICT]);
	}
	return error;
}

void irregular_loads_deinit(struct irregular_loads *loads)
{
	free(loads->loads);
	*loads = (struct irregular_loads){0};
}

/* Lines that it found at a level: those that did not have to come from further away. */
static double found_at(const struct irregular_load *load, int level)
{
	double beyond = 0;
	for (int further = level + 1; further < MODEL_LEVELS; further++)
		beyond = fmax(beyond, load->reads[further]);
	return fmax(0, load->reads[level] - beyond);
}

/* ---- chains ---- */

/* Within `loop`, an index, or the loops in it. */
static bool is_in(const struct finder *finder, uint32_t loop, uint32_t node)
{
	uint32_t at = finder->graph->nodes[node].loop;
	while (at != PROFILE_NONE && at != loop)
		at = finder->function->loops[at].parent;
	return at == loop;
}

static uint64_t bit_of(uint8_t number)
{
	return number < REGISTER_MASK     ? UINT64_C(1) << number
	       : number == REGISTER_FLAGS ? UINT64_C(1) << BIT_FLAGS
					  : 0;
}

static struct data data_of(const struct finder *finder, const struct flow_node *node)
{
	const struct profile_block *block = &finder->profile->blocks[node->block];
	struct data data = {.memory = {.base = NO_REGISTER, .index = NO_REGISTER}};
	const struct dataflow *flow =
		insn_cache_dataflow(finder->insns, block->bytes + node->at, block->size - node->at);
	if (!flow)
		return data;
	if (flow->calls) {
		data.written = CHANGED_BY_CALLS;
		return data;
	}
	data.memory = memory_place_at(flow->memory, node->offset + node->length);
	data.loads = flow->loads;
	data.stores = flow->stores;
	data.address = bit_of(flow->memory.base) | bit_of(flow->memory.index);
	data.read = data.address;
	for (size_t i = 0; i < flow->n_reads; i++)
		data.read |= bit_of(flow->reads[i]);
	for (size_t i = 0; i < flow->n_writes; i++)
		data.written |= bit_of(flow->writes[i]);
	return data;
}

/* Gives places in memory whose address does not change in the loop bits of their own, as far as
 * there are bits: variables that are kept in memory. */
static void name_places(struct finder *finder)
{
	struct memory_place places[MOST_PLACES];
	size_t n = 0;
	uint64_t written = 0;
	for (size_t i = 0; i < finder->n_members; i++)
		written |= finder->data[finder->members[i]].written;
	for (size_t i = 0; i < finder->n_members; i++) {
		struct data *data = &finder->data[finder->members[i]];
		size_t at = 0;
		if (!(data->loads || data->stores) || data->memory.index != NO_REGISTER ||
		    bit_of(data->memory.base) & written & ~BIT_STACK_POINTER)
			continue;
		while (at < n && !memory_place_same(&places[at], &data->memory))
			at++;
		if (at == MOST_PLACES)
			continue;
		if (at == n)
			places[n++] = data->memory;
		data->read |= data->loads ? UINT64_C(1) << (BIT_PLACES + at) : 0;
		data->written |= data->stores ? UINT64_C(1) << (BIT_PLACES + at) : 0;
	}
}

static const struct irregular_load *new_load_at(const struct finder *finder, uint32_t node)
{
	return finder->seen[node]
		       ? NULL
		       : load_at(finder->loads, finder->module, finder->graph->nodes[node].offset);
}

/* Finds the code of a loop and of those in it, in order; false when there is too much. */
static bool find_members(struct finder *finder, uint32_t loop)
{
	const struct by_key *nodes = &finder->nodes, *within = &finder->within;
	size_t n_pending = 0;
	finder->n_members = 0;
	finder->pending[n_pending++] = loop;
	while (n_pending > 0) {
		const uint32_t next = finder->pending[--n_pending];
		const size_t n = nodes->first[next + 1] - nodes->first[next];
		if (n > MOST_NODES - finder->n_members)
			return false;
		for (size_t i = 0; i < n; i++)
			finder->members[finder->n_members++] = nodes->items[nodes->first[next] + i];
		for (size_t i = within->first[next]; i < within->first[next + 1]; i++)
			finder->pending[n_pending++] = within->items[i];
	}
	qsort(finder->members, finder->n_members, sizeof(*finder->members), compare_nodes);
	return true;
}

/* Takes the code of a loop; false when there is too much, or no load that may be on a chain: most
 * loops have none, and their code need not be decoded. */
static bool take_members(struct finder *finder, uint32_t loop)
{
	bool any = false;
	if (!find_members(finder, loop))
		return false;
	for (size_t i = 0; i < finder->n_members && !any; i++)
		any = new_load_at(finder, finder->members[i]) != NULL;
	if (!any)
		return false;
	for (size_t i = 0; i < finder->n_members; i++) {
		const uint32_t node = finder->members[i];
		finder->data[node] = data_of(finder, &finder->graph->nodes[node]);
	}
	name_places(finder);
	return true;
}

/* Marks, before each node of the loop, the places whose value comes from what `source` loaded.  A
 * node is looked at again only when there is another place. */
static void follow(struct finder *finder, uint32_t source, uint32_t loop)
{
	const struct flow_graph *graph = finder->graph;
	size_t n_pending = 0;
	for (size_t i = 0; i < finder->n_members; i++)
		finder->before[finder->members[i]] = 0;
	finder->pending[n_pending++] = source;
	finder->is_pending[source] = true;
	while (n_pending > 0) {
		const uint32_t node = finder->pending[--n_pending];
		const struct data *data = &finder->data[node];
		uint64_t behind = finder->before[node] & ~data->written;
		finder->is_pending[node] = false;
		if (node == source || finder->before[node] & data->read)
			behind |= data->written;
		for (int way = 0; way < 2; way++) {
			const uint32_t to = graph->to[2 * (size_t)node + (size_t)way];
			if (to == FLOW_NONE || !is_in(finder, loop, to) ||
			    !(behind & ~finder->before[to]))
				continue;
			finder->before[to] |= behind;
			if (!finder->is_pending[to])
				finder->pending[n_pending++] = to;
			finder->is_pending[to] = true;
		}
	}
}

/* The irregular loads of the loop at hand. */
struct candidates {
	uint32_t node[MOST_LOADS];
	const struct irregular_load *load[MOST_LOADS];
	uint64_t reaches[MOST_LOADS]; /* bit j: load j waits for it */
	size_t n;
};

static void find_candidates(const struct finder *finder, struct candidates *candidates)
{
	candidates->n = 0;
	for (size_t i = 0; i < finder->n_members && candidates->n < MOST_LOADS; i++) {
		const uint32_t node = finder->members[i];
		const struct irregular_load *load = new_load_at(finder, node);
		if (!load || !finder->data[node].loads)
			continue;
		candidates->node[candidates->n] = node;
		candidates->load[candidates->n++] = load;
	}
}

/* Those of the innermost loop of a node; NULL: it is in none. */
static struct model_irregular *irregular_of(const struct finder *finder, uint32_t node)
{
	const uint32_t loop = finder->graph->nodes[node].loop;
	return loop == PROFILE_NONE ? NULL : &finder->function->loop_irregular[loop * MODEL_LEVELS];
}

/* How often a branch of the loop that waits for what was followed was mispredicted. */
static double guessed_wrong(const struct finder *finder)
{
	double wrong = 0;
	for (size_t i = 0; i < finder->n_members; i++) {
		const uint32_t node = finder->members[i];
		if (finder->before[node] & finder->data[node].read)
			wrong += model_mispredicted(finder->profile, finder->module,
						    finder->graph->nodes[node].offset);
	}
	return wrong;
}

/* The lines of load `i`, which was followed, that a mispredicted branch waits for: of a load of
 * this loop's own code, so that loops around it do not find them again. */
static void add_guessed(const struct finder *finder, uint32_t loop,
			const struct candidates *candidates, size_t i)
{
	const struct flow_node *node = &finder->graph->nodes[candidates->node[i]];
	struct model_irregular *own = irregular_of(finder, candidates->node[i]);
	if (node->loop != loop || !own || node->n <= 0)
		return;
	const double share = fmin(1, guessed_wrong(finder) / (double)node->n);
	for (int level = 1; level < MODEL_LEVELS; level++)
		own[level].guessed += share * found_at(candidates->load[i], level);
}

static void find_reaches(struct finder *finder, uint32_t loop, struct candidates *candidates)
{
	for (size_t i = 0; i < candidates->n; i++) {
		candidates->reaches[i] = 0;
		follow(finder, candidates->node[i], loop);
		add_guessed(finder, loop, candidates, i);
		for (size_t j = 0; j < candidates->n; j++) {
			const uint32_t node = candidates->node[j];
			if (finder->before[node] & finder->data[node].address)
				candidates->reaches[i] |= UINT64_C(1) << j;
		}
	}
}

/* The loads that wait for load `i` and for which it waits; 0: it is on no chain. */
static uint64_t chain_of(const struct candidates *candidates, size_t i)
{
	uint64_t chain = 0;
	for (size_t j = 0; j < candidates->n; j++)
		if (candidates->reaches[i] >> j & 1 && candidates->reaches[j] >> i & 1)
			chain |= UINT64_C(1) << j;
	return chain >> i & 1 ? chain : 0;
}

/* A load from the same line as chained load `j` of the same turn: whichever comes first fetches the
 * line for both, and the chain goes on when it is there. */
static bool is_beside(const struct finder *finder, const struct candidates *candidates, size_t i,
		      size_t j)
{
	const struct data *x = &finder->data[candidates->node[i]],
			  *y = &finder->data[candidates->node[j]];
	const int64_t apart = x->memory.displacement - y->memory.displacement;
	return x->memory.base != NO_REGISTER && x->memory.base == y->memory.base &&
	       x->memory.index == NO_REGISTER && y->memory.index == NO_REGISTER &&
	       apart > -CACHE_LINE && apart < CACHE_LINE && candidates->reaches[j] >> i & 1;
}

static bool is_beside_chain(const struct finder *finder, const struct candidates *candidates,
			    size_t i, uint64_t chain)
{
	for (size_t j = 0; j < candidates->n && !(chain >> i & 1); j++)
		if (chain >> j & 1 && is_beside(finder, candidates, i, j))
			return true;
	return false;
}

/* What the loads of a chain and those beside them found at each level; a line that another one has
 * fetched is no step of its own.  Returns the cycles, roughly, and takes the loads out. */
static double sum_chain(struct finder *finder, const struct candidates *candidates, uint64_t chain,
			double found[MODEL_LEVELS])
{
	double cycles = 0;
	memset(found, 0, MODEL_LEVELS * sizeof(*found));
	for (size_t i = 0; i < candidates->n; i++) {
		const bool beside = is_beside_chain(finder, candidates, i, chain);
		if (!beside && !(chain >> i & 1))
			continue;
		finder->seen[candidates->node[i]] = true;
		for (int level = 0; level < MODEL_LEVELS; level++) {
			const double lines = found_at(candidates->load[i], level);
			if (!beside || level > 0)
				found[level] += lines;
			if (beside && level > 0)
				found[0] -= lines;
		}
	}
	found[0] = fmax(0, found[0]);
	for (int level = 0; level < MODEL_LEVELS; level++)
		cycles += rough_cycles[level] * found[level];
	return cycles;
}

/* The steps of a chain below L1, each to the loop that its load is in. */
static void share_out(const struct finder *finder, const struct candidates *candidates,
		      uint64_t chain, bool is_long)
{
	for (size_t i = 0; i < candidates->n; i++) {
		struct model_irregular *own = irregular_of(finder, candidates->node[i]);
		if (!own || !(chain >> i & 1 || is_beside_chain(finder, candidates, i, chain)))
			continue;
		for (int level = 1; level < MODEL_LEVELS; level++)
			*(is_long ? &own[level].longest : &own[level].brief) +=
				found_at(candidates->load[i], level);
	}
}

/* Adds the chains of a loop to the traffic: the one that takes longest as `longest`.  `is_long`:
 * they count for the function; a loop around this one finds none of them again. */
static void add_chains(struct finder *finder, const struct candidates *candidates, bool is_long,
		       struct model_irregular *irregular)
{
	double longest[MODEL_LEVELS] = {0}, found[MODEL_LEVELS], most = 0;
	uint64_t done = 0, longest_chain = 0;
	for (size_t i = 0; i < candidates->n; i++) {
		const uint64_t chain = chain_of(candidates, i);
		if (!chain || done >> i & 1)
			continue;
		done |= chain;
		const double cycles = sum_chain(finder, candidates, chain, found);
		for (int level = 0; level < MODEL_LEVELS && is_long; level++)
			irregular[level].chained += found[level];
		if (cycles > most) {
			most = cycles;
			longest_chain = chain;
			memcpy(longest, found, sizeof(longest));
		}
	}
	for (int level = 0; level < MODEL_LEVELS && is_long; level++)
		irregular[level].longest += longest[level];
	share_out(finder, candidates, longest_chain, is_long);
}

static void find_chains(struct finder *finder, struct model_irregular *irregular)
{
	for (uint32_t loop = (uint32_t)finder->function->n_loops; loop-- > 0;) {
		const struct model_loop *own = &finder->function->loops[loop];
		struct candidates candidates;
		if (!take_members(finder, loop))
			continue;
		const double instructions =
			flow_graph_executions(finder->graph, finder->members, finder->n_members);
		const bool is_long =
			own->entries > 0 && fmax((double)own->turns / LONG_CHAIN,
						 instructions / LONG_ENTRY) >= (double)own->entries;
		find_candidates(finder, &candidates);
		find_reaches(finder, loop, &candidates);
		add_chains(finder, &candidates, is_long, irregular);
	}
}

/* ---- all of it ---- */

/* Whether any is between the first and the last instruction: in most functions there is none. */
static bool has_loads(const struct finder *finder)
{
	const struct irregular_load *loads = finder->loads->loads;
	const struct flow_graph *graph = finder->graph;
	const uint32_t module = finder->module;
	if (!graph->n_nodes)
		return false;
	const size_t first =
		rf_search(finder->loads->n_loads, i,
			  loads[i].module < module || (loads[i].module == module &&
						       loads[i].offset < graph->nodes[0].offset));
	return first < finder->loads->n_loads && loads[first].module == module &&
	       loads[first].offset <= graph->nodes[graph->n_nodes - 1].offset;
}

/* The lines of the function's irregular instructions; false when there are none. */
static bool sum_lines(const struct finder *finder, struct model_irregular *irregular)
{
	bool any = false;
	for (size_t i = 0; i < finder->graph->n_nodes; i++) {
		const struct flow_node *node = &finder->graph->nodes[i];
		struct irregular_load *load = load_at(finder->loads, finder->module, node->offset);
		if (!load)
			continue;
		any = true;
		load->reads[0] = node->n > 0 ? (double)node->n : 0;
		for (int level = 0; level < MODEL_LEVELS; level++)
			irregular[level].lines += found_at(load, level);
	}
	return any;
}

/* The same of each loop's own code. */
static struct rf_error *sum_lines_of_loops(const struct finder *finder)
{
	struct model_function *function = finder->function;
	function->loop_irregular =
		calloc(function->n_loops * MODEL_LEVELS, sizeof(*function->loop_irregular));
	if (!function->loop_irregular)
		return rf_error_no_memory();
	for (uint32_t i = 0; i < finder->graph->n_nodes; i++) {
		const struct irregular_load *load =
			load_at(finder->loads, finder->module, finder->graph->nodes[i].offset);
		struct model_irregular *own = load ? irregular_of(finder, i) : NULL;
		for (int level = 0; own && level < MODEL_LEVELS; level++)
			own[level].lines += found_at(load, level);
		if (own)
			function->loops[finder->graph->nodes[i].loop].irregular = own;
	}
	return NULL;
}

static struct rf_error *prepare(struct finder *finder)
{
	const struct flow_graph *graph = finder->graph;
	const struct model_function *function = finder->function;
	const size_t n = graph->n_nodes, n_loops = function->n_loops;
	finder->data = malloc((n + 1) * sizeof(*finder->data));
	finder->before = malloc((n + 1) * sizeof(*finder->before));
	finder->members = malloc((MOST_NODES + 1) * sizeof(*finder->members));
	finder->seen = calloc(n + 1, sizeof(*finder->seen));
	finder->pending = malloc((n + n_loops + 1) * sizeof(*finder->pending));
	finder->is_pending = calloc(n + 1, sizeof(*finder->is_pending));
	if (!finder->data || !finder->before || !finder->members || !finder->seen ||
	    !finder->pending || !finder->is_pending)
		return rf_error_no_memory();
	return by_key_init(&finder->nodes, n_loops, &graph->nodes->loop, sizeof(*graph->nodes), n)
		       ?: by_key_init(&finder->within, n_loops, &function->loops->parent,
				      sizeof(*function->loops), n_loops);
}

struct rf_error *model_read_irregular(const struct irregular_loads *loads, struct insn_cache *insns,
				      uint32_t module, const struct flow_graph *graph,
				      struct model_function *function)
{
	struct finder finder = {.loads = loads,
				.insns = insns,
				.profile = loads->profile,
				.graph = graph,
				.function = function,
				.module = module};
	if (!function->traffic || !has_loads(&finder) ||
	    !sum_lines(&finder, function->traffic->irregular) || !function->n_loops)
		return NULL;
	struct rf_error *error = sum_lines_of_loops(&finder) ?: prepare(&finder);
	if (!error)
		find_chains(&finder, function->traffic->irregular);
	by_key_deinit(&finder.nodes);
	by_key_deinit(&finder.within);
	free(finder.data);
	free(finder.before);
	free(finder.members);
	free(finder.seen);
	free(finder.pending);
	free(finder.is_pending);
	return error;
}

/* ---- the time that they need ---- */

static struct model_wait wait_in(const struct profile *profile,
				 const struct model_function *function, enum model_pattern pattern)
{
	double lines[MODEL_LEVELS];
	for (int i = 0; i < MODEL_LEVELS; i++) {
		const struct model_irregular *at = &function->traffic->irregular[i];
		lines[i] = pattern == PATTERN_CHASE ? at->longest : at->lines;
	}
	return model_wait_for(profile, lines, pattern, function->concurrency, false);
}

struct model_wait model_wait_of(const struct profile *profile,
				const struct model_function *function)
{
	const struct model_wait none = {0};
	if (!function->traffic || function->traffic->source != MEMORY_TRACED ||
	    function->elapsed_s <= 0)
		return none;
	const double most = function->elapsed_s * CONTRADICTED;
	const struct model_wait chase = wait_in(profile, function, PATTERN_CHASE),
				random = wait_in(profile, function, PATTERN_RANDOM);
	if (chase.seconds > random.seconds && chase.seconds <= most)
		return chase;
	return random.seconds > 0 && random.seconds <= most ? random : none;
}
