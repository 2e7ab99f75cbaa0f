/* The facts about a core, one after another. */
#include "machine/core/core_measure.h"

#include "base/clock.h"
#include "machine/core/branch_cost.h"
#include "machine/core/form_latency.h"
#include "machine/core/form_measure.h"
#include "machine/core/form_operands.h"
#include "machine/core/store_cost.h"
#include "machine/core/window_size.h"
#include "machine/topology/cpu_features.h"

#include <stdlib.h>
#include <string.h>

static const char *const common_forms[] = {
#define FORM(name) name,
#include "machine/core/forms.def"
#undef FORM
};
#define N_COMMON (sizeof(common_forms) / sizeof(*common_forms))

#define PASSES 2
#define MOST_LOOKS                                                                     \
	6 /* at a form some of whose latencies do not repeat, and at what is no form's \
	   */
#define BRANCH_TRIES 4
#define STEPS 32 /* of a chain or a row */
#define LINES 8  /* of a row of accesses to lines */

/* ---- memory ---- */

/* mov rax, [rax], which points at itself */
static double load_general(struct form_measure *measure)
{
	static const uint8_t chase[] = {0x48, 0x8b, 0x00};
	struct code *code = timed_code_body(measure->timed);
	for (int i = 0; i < STEPS; i++)
		code_add_bytes(code, chase, sizeof(chase));
	return timed_code_cycles(measure->timed, (struct timed_kind){KIND_NONE, false}) / STEPS;
}

/* mov rdx, [r14 + rdx * 8 + 64]: of zeros */
static double load_scaled(struct form_measure *measure)
{
	static const uint8_t chase[] = {0x49, 0x8b, 0x54, 0xd6, 0x40};
	struct code *code = timed_code_body(measure->timed);
	for (int i = 0; i < STEPS; i++)
		code_add_bytes(code, chase, sizeof(chase));
	return timed_code_cycles(measure->timed, (struct timed_kind){KIND_NONE, false}) / STEPS;
}

/* movups xmm0, [r14 + rdx]; movq rdx, xmm0: of zeros */
static double load_vector(struct form_measure *measure)
{
	static const uint8_t vex[] = {0xc4, 0xc1, 0x78, 0x10, 0x04, 0x16,
				      0xc4, 0xe1, 0xf9, 0x7e, 0xc2};
	static const uint8_t sse[] = {0x41, 0x0f, 0x10, 0x04, 0x16, 0x66, 0x48, 0x0f, 0x7e, 0xc2};
	struct code *code = timed_code_body(measure->timed);
	for (int i = 0; i < STEPS; i++)
		if (cpu_has(CPU_AVX))
			code_add_bytes(code, vex, sizeof(vex));
		else
			code_add_bytes(code, sse, sizeof(sse));
	return timed_code_cycles(measure->timed, (struct timed_kind){KIND_XMM, false}) / STEPS -
	       measure->vector_and_back / 2;
}

/* ---- branches and dividers ---- */

/* Jumps from one piece of 16 bytes to the next; the loop's own is one more.  Loops of a few
 * instructions may do better. */
static double taken(struct form_measure *measure)
{
	uint8_t piece[16] = {0xeb, 14};
	struct code *code = timed_code_body(measure->timed);
	memset(piece + 2, 0x90, sizeof(piece) - 2);
	for (int i = 0; i < STEPS; i++)
		code_add_bytes(code, piece, sizeof(piece));
	const double pieces =
		timed_code_cycles(measure->timed, (struct timed_kind){KIND_NONE, false}) /
		(STEPS + 1);
	timed_code_body(measure->timed);
	const double nothing =
		timed_code_cycles(measure->timed, (struct timed_kind){KIND_NONE, false});
	return fmin(pieces, nothing);
}

/* Pieces of 38 bytes in five slots, which begin `phase` bytes behind a jump that leads to them. */
static double pieces_at(struct form_measure *measure, size_t phase)
{
	static const uint8_t nop[] = {0x66, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0};
	uint8_t piece[128], *at = piece + phase + 2;
	struct code *code = timed_code_body(measure->timed);
	memset(piece, 0x90, sizeof(piece));
	piece[0] = 0xeb;
	piece[1] = (uint8_t)phase;
	for (int i = 0; i < 4; i++, at += sizeof(nop))
		memcpy(at, nop, sizeof(nop));
	at[0] = 0xeb;
	at[1] = (uint8_t)(piece + sizeof(piece) - at - 2);
	for (int i = 0; i < STEPS; i++)
		code_add_bytes(code, piece, sizeof(piece));
	return timed_code_cycles(measure->timed, (struct timed_kind){KIND_NONE, false}) / STEPS;
}

/* Pieces in one line, and in two: there are some of both among those at these places, wherever the
 * first one lies. */
static void code_lines(struct form_measure *measure, double cycles[2])
{
	cycles[0] = cycles[1] = NAN;
	for (size_t phase = 0; phase < CODE_LINE; phase += CODE_LINE / 4) {
		const double here = pieces_at(measure, phase);
		cycles[0] = fmin(cycles[0], here);
		cycles[1] = fmax(cycles[1], here);
	}
}

static void add_integer_division(struct code *code)
{
	struct form_shape shape;
	struct insn_form form;
	if (form_find("idiv r32", &form) && form_shape_of(form, &shape))
		form_add_prelude(code, &shape);
	code_add_named(code, "idiv r32", CODE_CONSTANT, 0, 0);
}

static double divisions(struct form_measure *measure, bool integers, bool numbers)
{
	struct code *code = timed_code_body(measure->timed);
	for (int i = 0; i < STEPS; i++) {
		if (integers)
			add_integer_division(code);
		if (numbers)
			code_add_named(code, "divsd xmm, xmm", i % 8, CODE_VECTOR, 0);
	}
	return timed_code_cycles(measure->timed, (struct timed_kind){KIND_XMM, false}) / STEPS;
}

static bool dividers_apart(struct form_measure *measure)
{
	const double integers = divisions(measure, true, false),
		     numbers = divisions(measure, false, true);
	return divisions(measure, true, true) <
	       fmax(integers, numbers) + 0.5 * fmin(integers, numbers);
}

/* Nops with an instruction and a branch that is not taken, which stand next to each other or not.
 */
static double among_nops(struct form_measure *measure, const char *name, bool next)
{
	struct code *code = timed_code_body(measure->timed);
	for (int i = 0; i < STEPS; i++) {
		for (int k = 0; k < 8; k++)
			code_add_named(code, "nop", 0, 0, 0);
		code_add_named(code, name, CODE_CONSTANT, 12, 0);
		if (!next)
			code_add_named(code, "nop", 0, 0, 0);
		code_add_named(code, "jz rel", 0, 0, 0);
		if (next)
			code_add_named(code, "nop", 0, 0, 0);
	}
	return timed_code_cycles(measure->timed, (struct timed_kind){KIND_NONE, false}) / STEPS;
}

/* A slot of eleven is more than what varies. */
static bool fuses(struct form_measure *measure, const char *name)
{
	double next = INFINITY, apart = INFINITY;
	for (int i = 0; i < 8; i++) {
		next = fmin(next, among_nops(measure, name, true));
		apart = fmin(apart, among_nops(measure, name, false));
	}
	return next < 0.96 * apart;
}

/* Loads and stores one after another, so many of each. */
static double memory_row(struct form_measure *measure, int loads, int stores)
{
	struct code *code = timed_code_body(measure->timed);
	for (int i = 0; i < 2 * STEPS; i++) {
		for (int k = 0; k < loads; k++)
			code_add_named(code, "mov r64, m64", 3 + 2 * k, 1024 + 8 * (2 * i + k), 0);
		for (int k = 0; k < stores; k++)
			code_add_named(code, "mov m64, r64", 8 * i, CODE_CONSTANT, 0);
	}
	return timed_code_cycles(measure->timed, (struct timed_kind){KIND_NONE, false}) /
	       (2 * STEPS);
}

static double address_cycles(struct form_measure *measure)
{
	const double mixed = memory_row(measure, 2, 1);
	const double alone = fmax(memory_row(measure, 2, 0), memory_row(measure, 0, 1));
	return mixed > 1.15 * alone ? mixed / 3 : 0;
}

/* Loads or stores of eight bytes one after another, each from its own line, of which it leaves so
 * much to the next. */
static double line_row(struct form_measure *measure, bool stores, int beyond)
{
	struct code *code = timed_code_body(measure->timed);
	for (int i = 0; i < STEPS; i++) {
		const int at = 64 * (i % LINES + 1) - 8 + beyond;
		if (stores)
			code_add_named(code, "mov m64, r64", at, CODE_CONSTANT, 0);
		else
			code_add_named(code, "mov r64, m64", 3, at, 0);
	}
	return timed_code_cycles(measure->timed, (struct timed_kind){KIND_NONE, false}) / STEPS;
}

static double crossing(struct form_measure *measure, bool stores)
{
	const double times = line_row(measure, stores, 4) / line_row(measure, stores, 0);
	return isnan(times) ? NAN : fmax(1, times);
}

static void measure_core(struct form_measure *measure, struct core_facts *facts)
{
	const double looks[] = {taken(measure), taken(measure), taken(measure)};
	facts->taken = fmax(fmin(looks[0], looks[1]), fmin(fmax(looks[0], looks[1]), looks[2]));
	code_lines(measure, facts->code_lines);
	for (int i = 0; i < BRANCH_TRIES; i++) {
		branch_cost_cycles(facts->mispredicted);
		if (!isnan(facts->mispredicted[0]) && !isnan(facts->mispredicted[1]))
			break;
	}
	facts->load[0] = load_general(measure);
	facts->load_scaled = load_scaled(measure);
	facts->load[1] = load_vector(measure);
	store_cost_measure(measure, facts);
	window_size_measure(measure, facts);
	facts->address = address_cycles(measure);
	for (int stores = 0; stores < 2; stores++)
		facts->crossing[stores] = crossing(measure, stores);
	facts->dividers_apart = dividers_apart(measure);
	facts->compares_fuse = fuses(measure, "cmp r64, r64");
	facts->steps_fuse = fuses(measure, "sub r64, i8");
}

/* What disturbs a measurement makes it longer, for some milliseconds or seconds: another thread of
 * the same core, which may be another guest's. */
static void take_shorter_core(struct core_facts *facts, const struct core_facts *again)
{
	facts->looks++;
	for (int rarely = 0; rarely < 2; rarely++)
		if (isnan(facts->mispredicted[rarely])) /* it did not repeat */
			facts->mispredicted[rarely] = again->mispredicted[rarely];
	facts->taken = fmin(facts->taken, again->taken);
	for (int two = 0; two < 2; two++)
		facts->code_lines[two] = fmin(facts->code_lines[two], again->code_lines[two]);
	for (int vector = 0; vector < 2; vector++) {
		facts->load[vector] = fmin(facts->load[vector], again->load[vector]);
	}
	facts->load_scaled = fmin(facts->load_scaled, again->load_scaled);
	store_cost_take_shorter(facts, again);
	/* a look that was disturbed finds fewer */
	for (int i = 0; i < CORE_WINDOWS; i++)
		facts->windows[i] = fmax(facts->windows[i], again->windows[i]);
	facts->address = fmin(facts->address, again->address);
	for (int stores = 0; stores < 2; stores++)
		facts->crossing[stores] = fmin(facts->crossing[stores], again->crossing[stores]);
	facts->dividers_apart |= again->dividers_apart;
	facts->compares_fuse |= again->compares_fuse;
	facts->steps_fuse |= again->steps_fuse;
}

/* ---- forms ---- */

static void take_shorter(struct form_fact *fact, const struct form_fact *before)
{
	fact->reciprocal = fmin(fact->reciprocal, before->reciprocal);
	fact->apart = fmin(fact->apart, before->apart);
	fact->beside_wide = fmin(fact->beside_wide, before->beside_wide);
	for (int i = 0; i <= FORM_OPERANDS; i++)
		fact->latency[i] = fmin(fact->latency[i], before->latency[i]);
	for (int i = 0; i < CORE_PROBES; i++)
		fact->use[i] = fmin(fact->use[i], before->use[i]); /* NAN and a number: that */
}

static struct rf_error *add_form(struct form_measure *measure, struct insn_form form,
				 struct core_facts *facts)
{
	const struct form_fact *before = core_facts_find(facts, form);
	struct form_fact fact;
	if (!form_measure(measure, form, &fact))
		return NULL;
	if (before)
		take_shorter(&fact, before);
	fact.looks = 1 + (before ? before->looks : 0);
	return core_facts_add(facts, &fact) ? NULL : rf_error_no_memory();
}

/* Whether every loop is reckoned with it: slots, taken and other branches, loads and stores. */
static bool is_basic(struct insn_form form)
{
	static const enum core_probe probes[] = {PROBE_SLOT, PROBE_BRANCH};
	const uint64_t key = form_key(form);
	for (size_t i = 0; i < sizeof(probes) / sizeof(*probes); i++) {
		struct insn_form basic = {0};
		if (form_find(core_probe_form(probes[i], true), &basic) && form_key(basic) == key)
			return true;
	}
	for (int width = ACCESS_GENERAL; width < ACCESS_WIDTHS; width++)
		if (form_key(core_load_form((enum access_width)width)) == key ||
		    form_key(core_store_form((enum access_width)width)) == key)
			return true;
	return false;
}

/* Whether there is anything to measure: others, such as calls, are asked for in each run.  What did
 * not repeat while others disturbed the machine is looked at again, but not for ever: some forms
 * take one time or another by turns.  So is what all else hangs on. */
static bool is_wanted(const struct core_facts *facts, struct insn_form form)
{
	const struct form_fact *known = core_facts_find(facts, form);
	struct form_shape shape;
	if (!form_shape_of(form, &shape))
		return false;
	return !known || (known->looks < MOST_LOOKS &&
			  (is_basic(form) || !form_latencies_known(known, &shape)));
}

/* Twice, with all others in between, as far as there is time. */
static struct rf_error *measure_forms(struct form_measure *measure, const struct insn_form *forms,
				      size_t n, uint64_t end, struct core_facts *facts)
{
	bool *wanted = calloc(n, sizeof(*wanted));
	struct rf_error *error = wanted ? NULL : rf_error_no_memory();
	for (size_t i = 0; i < n && !error; i++)
		wanted[i] = is_wanted(facts, forms[i]);
	for (int pass = 0; pass < PASSES && !error; pass++) {
		memset(measure->probe_rows, 0, sizeof(measure->probe_rows));
		form_measure_probes(measure);
		for (size_t i = 0; i < n && !error && clock_now_ns() < end; i++)
			if (wanted[i])
				error = add_form(measure, forms[i], facts);
	}
	free(wanted);
	return error;
}

struct rf_error *core_measure_more(const struct insn_form *forms, size_t n, uint64_t budget_ns,
				   struct core_facts *facts)
{
	const uint64_t end = clock_now_ns() + budget_ns;
	struct form_measure measure;
	size_t first = 0;
	while (first < n && !is_wanted(facts, forms[first]))
		first++;
	const bool is_first = !core_facts_known(facts),
		   once_more = is_first || facts->looks < MOST_LOOKS;
	if ((first == n && (is_first || !once_more)) || !form_measure_init(&measure))
		return NULL;
	if (is_first) {
		measure_core(&measure, facts);
		facts->looks = 1;
	}
	struct rf_error *error = measure_forms(&measure, forms, n, end, facts);
	if (once_more && !error) {
		struct core_facts again = {0};
		measure_core(&measure, &again);
		take_shorter_core(facts, &again);
	}
	form_measure_deinit(&measure);
	return error;
}

struct rf_error *core_measure(uint64_t budget_ns, struct core_facts *facts)
{
	struct insn_form forms[N_COMMON];
	size_t n = 0;
	*facts = (struct core_facts){0};
	for (size_t i = 0; i < N_COMMON; i++)
		n += form_find(common_forms[i], &forms[n]);
	struct rf_error *error = core_measure_more(forms, n, budget_ns, facts);
	if (error)
		core_facts_deinit(facts);
	return error;
}
