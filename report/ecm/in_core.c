/* What one turn of a loop takes in the core: sums over its instructions of what the machine was
 * measured to take for each (machine/data/core_facts.h), and the longest of them. */
#include "report/ecm/in_core.h"

#include "insn/decoder.h"
#include "insn/recurrence.h"
#include "machine/data/core_json.h"
#include "report/ecm/under_way.h"

#include <stdlib.h>
#include <string.h>

#define MAX_WAY 4096 /* instructions of a turn whose chain is looked for */
#define TICKS 100    /* of a recurrence, in a cycle */

/* Cycles of a turn, but for `instructions` and `unknown`, which are numbers. */
struct sums {
	double slots, taken, loads, stores, accesses;
	double divisions[2]; /* of integers, of floating-point numbers */
	double units[CORE_PROBES];
	double *forms; /* per form of the facts: one behind the other of its kind */
	double instructions, unknown;
};

struct reader {
	const struct core_facts *facts;
	const struct in_core_code *code;
	struct sums sums;
};

const char *in_core_part_name(enum in_core_part part)
{
	static const char *const names[IN_CORE_PARTS] = {
		[IN_CORE_ISSUE] = "instructions",       [IN_CORE_UNITS] = "execution units",
		[IN_CORE_DIVIDER] = "divisions",        [IN_CORE_TAKEN] = "taken branches",
		[IN_CORE_CHAIN] = "a chain of results",
	};
	return names[part];
}

struct rf_error *in_core_facts(const struct profile *profile, struct core_facts *facts)
{
	const char *text = profile_get_fact(profile, "core_facts");
	json_t *json = text ? json_loads(text, JSON_REJECT_DUPLICATES, NULL) : NULL;
	*facts = (struct core_facts){0};
	struct rf_error *error = json ? core_facts_from_json(json, facts) : NULL;
	json_decref(json);
	if (error && error->code == RF_EFORMAT) { /* as good as none */
		rf_error_destroy(error);
		error = NULL;
	}
	return error;
}

/* ---- the machine ---- */

static double slot_cycles(const struct core_facts *facts, const struct profile *profile)
{
	struct insn_form nop = {0};
	form_find(core_probe_form(PROBE_SLOT, true), &nop);
	const struct form_fact *fact = core_facts_find(facts, nop);
	return fact && fact->reciprocal > 0 ? fact->reciprocal : 1 / model_issue_width(profile);
}

static double access_cycles(const struct core_facts *facts, enum access_width width, bool store)
{
	if (width == ACCESS_NONE)
		return 0;
	const struct form_fact *fact =
		core_facts_find(facts, store ? core_store_form(width) : core_load_form(width));
	return fact                     ? fact->reciprocal
	       : width > ACCESS_GENERAL ? access_cycles(facts, width - 1, store)
					: 1;
}

/* From an operand of an addition to its result: what stands for a form that nobody has measured. */
static double addition_cycles(const struct core_facts *facts, bool vector)
{
	static const char *const names[] = {"vaddpd xmm, xmm, xmm", "addpd xmm, xmm"};
	for (int i = 0; i < 2 && vector; i++) {
		struct insn_form form = {0};
		form_find(names[i], &form);
		const struct form_fact *fact = core_facts_find(facts, form);
		if (fact && form_fact_latency(fact) > 0)
			return form_fact_latency(fact);
	}
	return vector ? 4 : 1;
}

/* ---- sums ---- */

/* Whether the instruction and the branch behind it are one for the core. */
static bool is_fused(const struct reader *reader, uint32_t index, const struct dataflow *flow)
{
	const struct flow_graph *graph = reader->code->graph;
	const uint16_t mnemonic = flow->parts.form.mnemonic;
	if (index + 1 >= graph->n_nodes || graph->to[2 * (size_t)index] != index + 1 ||
	    graph->nodes[index + 1].kind != BRANCH_CONDITIONAL || flow->stores)
		return false;
	if (mnemonic == ZYDIS_MNEMONIC_CMP || mnemonic == ZYDIS_MNEMONIC_TEST)
		return reader->facts->compares_fuse;
	return reader->facts->steps_fuse &&
	       (mnemonic == ZYDIS_MNEMONIC_ADD || mnemonic == ZYDIS_MNEMONIC_SUB ||
		mnemonic == ZYDIS_MNEMONIC_AND || mnemonic == ZYDIS_MNEMONIC_INC ||
		mnemonic == ZYDIS_MNEMONIC_DEC);
}

/* How many times as long as others the loads or stores of an instruction take, some of which lie in
 * two lines. */
static double times_longer(const struct core_facts *facts, bool store, double crossing_share)
{
	const double measured = facts->crossing[store];
	return 1 + crossing_share * ((measured >= 1 ? measured : 2) - 1);
}

static void add_memory(struct reader *reader, const struct flow_node *node,
		       const struct dataflow *flow, double weight)
{
	const struct core_facts *facts = reader->facts;
	const struct form_parts *parts = &flow->parts;
	const struct profile_block *block = &reader->code->profile->blocks[node->block];
	const unsigned lanes = parts->memory_in_form && flow->work.lanes ? flow->work.lanes : 1;
	const double each = weight * lanes,
		     share = line_crossings_share(reader->code->crossings, block->module,
						  node->offset);
	reader->sums.loads +=
		each * access_cycles(facts, parts->load, false) * times_longer(facts, false, share);
	reader->sums.stores +=
		each * access_cycles(facts, parts->store, true) * times_longer(facts, true, share);
	reader->sums.accesses += each * ((parts->load != 0) + (parts->store != 0)) * (1 + share);
}

/* What stands for jumps, calls and returns: conditional branches have the same units. */
static struct insn_form branch_form(void)
{
	struct insn_form form = {0};
	form_find(core_probe_form(PROBE_BRANCH, true), &form);
	return form;
}

/* The form's part; what is loaded and stored beside it takes no more slots, but for what does both.
 */
static void add_form(struct reader *reader, const struct dataflow *flow, double weight, double slot)
{
	const struct form_parts *parts = &flow->parts;
	const bool both = parts->load && parts->store;
	const struct insn_form form = parts->branch == FORM_JUMP ? branch_form() : parts->form;
	const struct form_fact *fact = core_facts_find(reader->facts, form);
	struct sums *sums = &reader->sums;
	double slots = 1;
	if (!fact) {
		sums->slots += (1 + both) * weight * slot;
		sums->unknown += parts->form.mnemonic ? weight : 0;
		return;
	}
	if (fact->use[PROBE_SLOT] > 1.5 * slot)
		slots = rint(fact->use[PROBE_SLOT] / slot);
	sums->slots += (slots + both) * weight * slot;
	if (flow->kind == STEP_DIVIDE)
		sums->divisions[flow->work.flop_lanes > 0] += weight * fact->reciprocal;
	else
		sums->forms[fact - reader->facts->forms] += weight * fact->reciprocal;
	for (int probe = PROBE_SLOT + 1; probe < CORE_PROBES; probe++)
		if (fact->use[probe] > 0)
			sums->units[probe] += weight * fact->use[probe];
}

static int64_t executions_at(const struct flow_graph *graph, uint32_t index)
{
	return index == FLOW_NONE ? 0 : graph->nodes[index].n;
}

/* How often the branch at the node was taken: by its edges, where these are known; else the middle
 * of what may be, as no way is gone more often than what it leads to. */
static int64_t times_taken(const struct in_core_code *code, uint32_t index)
{
	const struct flow_graph *graph = code->graph;
	const struct flow_node *node = &graph->nodes[index];
	const uint32_t *to = &graph->to[2 * (size_t)index];
	int64_t taken = 0;
	if (node->kind == BRANCH_NONE)
		return 0;
	if (node->kind != BRANCH_CONDITIONAL)
		return node->n;
	if (to[1] != FLOW_NONE && flow_edge_count(graph, code->row, index, to[1], &taken))
		return taken;
	if (to[0] != FLOW_NONE && flow_edge_count(graph, code->row, index, to[0], &taken))
		return node->n - taken;
	const int64_t on = executions_at(graph, to[0]), away = executions_at(graph, to[1]);
	const int64_t least = on < node->n ? node->n - on : 0,
		      most = away < node->n ? away : node->n;
	return least < most ? least + (most - least) / 2 : most;
}

static bool is_within(const struct model_function *function, uint32_t loop, uint32_t outer)
{
	while (loop != PROFILE_NONE && loop != outer)
		loop = function->loops[loop].parent;
	return loop == outer;
}

static const struct dataflow *dataflow_at(const struct in_core_code *code, uint32_t index)
{
	const struct flow_node *node = &code->graph->nodes[index];
	const struct profile_block *block = &code->profile->blocks[node->block];
	return insn_cache_dataflow(code->insns, block->bytes + node->at, block->size - node->at);
}

static void add_loop(struct reader *reader, uint32_t loop)
{
	const struct in_core_code *code = reader->code;
	const struct flow_graph *graph = code->graph;
	const double turns = (double)code->function->loops[loop].turns;
	const double slot = slot_cycles(reader->facts, code->profile);
	const double each_taken = reader->facts->taken > 0 ? reader->facts->taken : 1;
	for (uint32_t i = 0; i < graph->n_nodes; i++) {
		const struct flow_node *node = &graph->nodes[i];
		if (node->n <= 0 || !is_within(code->function, node->loop, loop))
			continue;
		const double weight = (double)node->n / turns;
		const struct dataflow *flow = dataflow_at(code, i);
		reader->sums.instructions += weight;
		reader->sums.taken += (double)times_taken(code, i) / turns * each_taken;
		if (!flow) {
			reader->sums.unknown += weight;
			continue;
		}
		add_memory(reader, node, flow, weight);
		if (!is_fused(reader, i, flow))
			add_form(reader, flow, weight, slot);
	}
}

static double busiest_units(const struct reader *reader)
{
	double most = 0;
	for (int probe = PROBE_SLOT + 1; probe < CORE_PROBES; probe++)
		most = fmax(most, reader->sums.units[probe]);
	for (size_t i = 0; i < reader->facts->n_forms; i++)
		most = fmax(most, reader->sums.forms[i]);
	return most;
}

/* ---- the chain ---- */

static uint32_t ticks(double cycles)
{
	return cycles > 0 && cycles < 1e5 ? (uint32_t)lrint(cycles * TICKS) : 0;
}

static bool is_wide(const struct insn_form *form)
{
	bool wide = false;
	for (int i = 0; i < FORM_OPERANDS; i++)
		wide |= form->operands[i] == KIND_ZMM;
	return form->mnemonic && wide;
}

/* `beside_wide`: of a turn in which something computes with 512 bits. */
static void set_latencies(const struct core_facts *facts, const struct dataflow *flow,
			  bool beside_wide, uint32_t latency[FORM_OPERANDS + 1])
{
	const struct form_fact *fact = core_facts_find(facts, flow->parts.form);
	const bool vector = flow->n_writes && flow->writes[0] >= REGISTER_VECTOR &&
			    flow->writes[0] < REGISTER_FLAGS;
	const double most = fact ? form_fact_latency(fact) : NAN;
	const double otherwise = !flow->parts.form.mnemonic ? 0
				 : !isnan(most)
					 ? most
					 : fmax(flow->latency, addition_cycles(facts, vector));
	const double more = fact && beside_wide && fact->beside_wide > 0 ? fact->beside_wide : 0;
	for (int i = 0; i <= FORM_OPERANDS; i++)
		latency[i] = ticks(
			(fact && !isnan(fact->latency[i]) ? fact->latency[i] : otherwise) + more);
}

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

static void set_steps(const struct reader *reader, struct way *way, size_t n)
{
	static const struct dataflow nothing = {
		.memory = {.base = NO_REGISTER, .index = NO_REGISTER}};
	const struct core_facts *facts = reader->facts;
	bool wide = false;
	for (size_t i = 0; i < n; i++) {
		const struct dataflow *flow = dataflow_at(reader->code, way->nodes[i]);
		way->flows[i] = flow ? *flow : nothing;
		wide |= is_wide(&way->flows[i].parts.form);
		for (unsigned w = 0; w < way->flows[i].n_writes; w++)
			way->written[way->flows[i].writes[w]] = true;
	}
	for (size_t i = 0; i < n; i++) {
		const struct flow_node *node = &reader->code->graph->nodes[way->nodes[i]];
		const struct dataflow *flow = &way->flows[i];
		const bool vector = flow->parts.load > ACCESS_GENERAL;
		/* what did not repeat when it was measured is the least that is known of others */
		const double load = isnan(facts->load[vector]) ? LOAD_LATENCY : facts->load[vector];
		const double *forward =
			is_still(way, &flow->memory) ? facts->forward_still : facts->forward;
		way->steps[i] = (struct recurrence_step){
			.flow = flow,
			.end = node->offset + node->length,
			.load = ticks(load),
			.forward = ticks(isnan(forward[vector]) ? load : forward[vector])};
		set_latencies(facts, flow, wide, way->steps[i].latency);
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
				step->latency[flow->read_as[r]] += ticks(fact->apart);
		note_makers(way, flow);
	}
}

/* Cycles of the longest recurrence of a turn of `n` nodes of `way`. */
static struct rf_error *chain_of_nodes(const struct reader *reader, struct way *way, size_t n,
				       double *cycles)
{
	struct recurrence chain;
	memset(way->written, 0, sizeof(way->written));
	memset(way->made_by, 0, sizeof(way->made_by));
	set_steps(reader, way, n);
	add_apart(reader->facts, way, n);
	struct rf_error *error = recurrence_find(way->steps, n, &chain);
	*cycles = !error && chain.turns ? (double)chain.cycles / chain.turns / TICKS : 0;
	return error;
}

static size_t way_of(const struct reader *reader, uint32_t loop, struct way *way)
{
	const struct in_core_code *code = reader->code;
	return flow_graph_way(code->graph, loop, code->function->loops[loop].header, way->nodes,
			      MAX_WAY);
}

static struct rf_error *chain_of_way(const struct reader *reader, uint32_t loop, double *cycles)
{
	struct way *way = calloc(1, sizeof(*way));
	if (!way)
		return rf_error_no_memory();
	struct rf_error *error = chain_of_nodes(reader, way, way_of(reader, loop, way), cycles);
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
	struct rf_error *error = n ? chain_of_nodes(reader, way, n, &all) : NULL;
	if (n && !error)
		error = chain_of_nodes(reader, way, way_of_entry(reader, loop, 1, way), &one);
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
		    is_within(code->function, code->graph->nodes[i].loop, loop))
			all += (double)code->graph->nodes[i].n;
	return all / (double)code->function->loops[loop].turns;
}

/* The chain of a loop, and what is left of it.  Loops within come behind those that they are in. */
static struct rf_error *find_chain(const struct reader *reader, uint32_t loop, double *lcd,
				   double *left)
{
	const struct model_function *function = reader->code->function;
	struct rf_error *error = NULL;
	bool innermost = true;
	*lcd = *left = 0;
	for (uint32_t i = loop + 1; i < function->n_loops && !error; i++) {
		double within, within_left;
		if (function->loops[i].parent != loop || function->loops[i].turns <= 0)
			continue;
		innermost = false;
		error = find_chain(reader, i, &within, &within_left);
		const double turns =
			(double)function->loops[i].turns / (double)function->loops[loop].turns;
		*lcd += within * turns;
		*left += within_left * turns;
	}
	if (error || !innermost)
		return error;
	error = chain_of_way(reader, loop, lcd);
	*left = beside_each_other(reader->code, loop, instructions_of(reader->code, loop), *lcd);
	if (error || *left >= *lcd)
		return error;
	double through;
	error = chain_through_entries(reader, loop, &through);
	*left = fmin(*lcd, fmax(*left, through));
	return error;
}

/* ---- all of it ---- */

static void conclude(const struct reader *reader, struct in_core *out)
{
	const struct core_facts *facts = reader->facts;
	const struct sums *sums = &reader->sums;
	const double integers = sums->divisions[0], numbers = sums->divisions[1];
	out->part[IN_CORE_ISSUE] = sums->slots;
	out->part[IN_CORE_UNITS] = busiest_units(reader);
	out->part[IN_CORE_DIVIDER] =
		facts->dividers_apart ? fmax(integers, numbers) : integers + numbers;
	out->part[IN_CORE_TAKEN] = sums->taken;
	for (int i = 0; i < IN_CORE_PARTS; i++)
		out->t_ol = fmax(out->t_ol, out->part[i]);
	out->t_nol = fmax(fmax(sums->loads, sums->stores), facts->address * sums->accesses);
	out->unknown = sums->instructions > 0 ? sums->unknown / sums->instructions : 1;
}

struct rf_error *in_core_of_loop(const struct core_facts *facts, const struct in_core_code *code,
				 uint32_t loop, struct in_core *out)
{
	struct reader reader = {.facts = facts, .code = code};
	*out = (struct in_core){.unknown = 1};
	if (!core_facts_known(facts) || code->function->loops[loop].turns <= 0)
		return NULL;
	reader.sums.forms = calloc(facts->n_forms, sizeof(*reader.sums.forms));
	if (!reader.sums.forms)
		return rf_error_no_memory();
	add_loop(&reader, loop);
	struct rf_error *error = find_chain(&reader, loop, &out->lcd, &out->part[IN_CORE_CHAIN]);
	if (!error)
		conclude(&reader, out);
	free(reader.sums.forms);
	return error;
}
