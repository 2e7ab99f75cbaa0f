/* What one turn of a loop takes in the core: sums over its instructions of what the machine was
 * measured to take for each (machine/data/core_facts.h), and the longest of them. */
#include "report/in_core/in_core.h"

#include "insn/decoder.h"
#include "machine/data/core_json.h"
#include "report/in_core/branch_waits.h"
#include "report/in_core/core_chain.h"

#include <stdlib.h>
#include <string.h>

/* Cycles of a turn, but for `instructions` and `unknown`, which are numbers. */
struct sums {
	double slots, fetch, loads, stores, accesses;
	double divisions[2]; /* of integers, of floating-point numbers */
	double units[CORE_PROBES];
	double *forms; /* per form of the facts: one behind the other of its kind */
	double instructions, unknown;
	double windows[CORE_WINDOWS]; /* instructions that need each of these */
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
		[IN_CORE_DIVIDER] = "divisions",        [IN_CORE_FETCH] = "fetching of code",
		[IN_CORE_CHAIN] = "a chain of results",
	};
	return names[part];
}

/* What core_facts.left is, by the profile. */
static void left_of(const struct profile *profile, double left[CORE_RATES])
{
	for (int i = 0; i < CORE_RATES; i++)
		left[i] = profile_number_fact(profile, core_left_fact((enum core_rate)i), 0);
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
	left_of(profile, facts->left);
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

/* Cycles more that a load takes because it comes behind stores that it must wait for. */
static double behind_stores(const struct reader *reader, uint32_t module, uint64_t offset,
			    bool vector)
{
	const struct core_facts *facts = reader->facts;
	const struct stored_load load = stored_load_at(reader->code->stored, module, offset);
	return (facts->blocked_each > 0 ? load.blocked * facts->blocked_each : 0) +
	       (facts->alias[vector] > 0 ? load.aliased * facts->alias[vector] : 0);
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
	if (parts->load)
		reader->sums.loads += each * behind_stores(reader, block->module, node->offset,
							   parts->load > ACCESS_GENERAL);
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

/* Lines of code that a turn goes on into without a branch: by the instruction, which lies in two,
 * and behind it, but where it leads elsewhere; `taken`: so often. */
static double next_lines(const struct in_core_code *code, uint32_t index, int64_t taken)
{
	const struct flow_node *node = &code->graph->nodes[index];
	const uint64_t last = (node->offset + node->length - 1) / CODE_LINE;
	const bool within = node->offset / CODE_LINE != last,
		   behind = (node->offset + node->length) / CODE_LINE != last;
	return (within ? (double)node->n : 0) + (behind ? (double)(node->n - taken) : 0);
}

static void add_windows(struct reader *reader, const struct dataflow *flow, double weight)
{
	bool needs[CORE_WINDOWS] = {[WINDOW_LOADS] = flow->parts.load != ACCESS_NONE,
				    [WINDOW_STORES] = flow->parts.store != ACCESS_NONE};
	for (unsigned w = 0; w < flow->n_writes; w++) {
		needs[WINDOW_GENERAL] |= flow->writes[w] < REGISTER_VECTOR;
		needs[WINDOW_FLAGS] |= flow->writes[w] == REGISTER_FLAGS;
		needs[WINDOW_VECTOR] |=
			flow->writes[w] >= REGISTER_VECTOR && flow->writes[w] < REGISTER_MASK;
	}
	for (int i = 0; i < CORE_WINDOWS; i++)
		reader->sums.windows[i] += needs[i] ? weight : 0;
}

static double under_way(const struct reader *reader)
{
	double fewest = INFINITY;
	for (int i = 0; i < CORE_WINDOWS; i++)
		if (reader->facts->windows[i] > 0 && reader->sums.windows[i] > 0)
			fewest =
				fmin(fewest, reader->facts->windows[i] * reader->sums.instructions /
						     reader->sums.windows[i]);
	return fewest;
}

/* By which code takes longer that goes on into another line: no more than a taken branch, for what
 * is more is from a look while others had the core. */
static double next_line_cycles(const struct core_facts *facts, double taken)
{
	const double longer = facts->code_lines[1] - facts->code_lines[0];
	return longer > 0 ? fmin(longer, taken) : 0; /* 0 where it is not known, too */
}

static void add_loop(struct reader *reader, uint32_t loop)
{
	const struct in_core_code *code = reader->code;
	const struct flow_graph *graph = code->graph;
	const double turns = (double)code->function->loops[loop].turns;
	const double slot = slot_cycles(reader->facts, code->profile);
	const double each_taken = reader->facts->taken > 0 ? reader->facts->taken : 1,
		     each_line = next_line_cycles(reader->facts, each_taken);
	for (uint32_t i = 0; i < graph->n_nodes; i++) {
		const struct flow_node *node = &graph->nodes[i];
		if (node->n <= 0 || !core_is_within(code->function, node->loop, loop))
			continue;
		const double weight = (double)node->n / turns;
		const struct dataflow *flow = core_dataflow_at(code, i);
		reader->sums.instructions += weight;
		const int64_t taken = times_taken(code, i);
		const bool calls =
			flow && flow->calls; /* which come back: no branch of the graph */
		reader->sums.fetch +=
			(double)taken / turns * each_taken +
			next_lines(code, i, calls ? node->n : taken) / turns * each_line;
		if (!flow) {
			reader->sums.unknown += weight;
			continue;
		}
		if (calls)
			reader->sums.fetch += weight * each_taken;
		add_memory(reader, node, flow, weight);
		add_windows(reader, flow, weight);
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

/* By which units of a probe take longer beside another hardware thread.  What those of shifts, of
 * multiplications and of branches had left was not measured. */
static double slower_units(const struct core_facts *facts, int probe)
{
	if (probe == PROBE_INTEGER)
		return core_slower(facts, CORE_RATE_INTEGER);
	return probe >= PROBE_FP_ADD ? core_slower(facts, CORE_RATE_VECTOR) : 1;
}

/* The same of a form: as the units that it keeps longest. */
static double slower_form(const struct core_facts *facts, const struct form_fact *fact)
{
	int longest = PROBE_SLOT;
	for (int probe = PROBE_SLOT + 1; probe < CORE_PROBES; probe++)
		if (fact->use[probe] > 0 &&
		    (longest == PROBE_SLOT || fact->use[probe] > fact->use[longest]))
			longest = probe;
	return slower_units(facts, longest);
}

static double busiest_shared_units(const struct reader *reader)
{
	const struct core_facts *facts = reader->facts;
	double most = 0;
	for (int probe = PROBE_SLOT + 1; probe < CORE_PROBES; probe++)
		most = fmax(most, reader->sums.units[probe] * slower_units(facts, probe));
	for (size_t i = 0; i < facts->n_forms; i++)
		if (reader->sums.forms[i] > 0)
			most = fmax(most,
				    reader->sums.forms[i] * slower_form(facts, &facts->forms[i]));
	return most;
}

/* What part[] and the rest are beside another hardware thread. */
static void share_core(const struct reader *reader, struct in_core *out)
{
	const struct core_facts *facts = reader->facts;
	const struct sums *sums = &reader->sums;
	out->shared_ol = fmax(fmax(out->t_ol, busiest_shared_units(reader)),
			      core_slower(facts, CORE_RATE_SLOTS) * fmax(sums->slots, sums->fetch));
	out->shared_nol =
		fmax(out->t_nol, fmax(core_slower(facts, CORE_RATE_LOADS) * sums->loads,
				      core_slower(facts, CORE_RATE_STORES) * sums->stores));
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
	out->part[IN_CORE_FETCH] = sums->fetch;
	for (int i = 0; i < IN_CORE_PARTS; i++)
		out->t_ol = fmax(out->t_ol, out->part[i]);
	out->t_nol = fmax(fmax(sums->loads, sums->stores), facts->address * sums->accesses);
	share_core(reader, out);
	out->under_way = under_way(reader);
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
	struct core_chain chain;
	struct rf_error *error = core_chain(facts, code, loop, &chain);
	out->lcd = chain.lcd;
	out->part[IN_CORE_CHAIN] = chain.left;
	out->chained_load =
		chain.loads > 0 ? (isnan(facts->load[0]) ? LOAD_LATENCY : facts->load[0]) : NAN;
	if (!error) {
		conclude(&reader, out);
		error = branch_waits(facts, code, loop, fmax(out->t_ol, out->t_nol),
				     &out->branch_waits);
	}
	free(reader.sums.forms);
	return error;
}
