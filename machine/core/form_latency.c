/* Chains of instructions that wait for each other. */
#include "machine/core/form_latency.h"

#include "machine/core/form_operands.h"
#include "machine/topology/cpu_features.h"

#define CHAIN 24  /* instructions of a loop; a whole number of ROTATED */
#define ROTATED 4 /* registers that results go to in turns */
#define WIDE_EVERY 8
#define RAX 0
#define ELIMINATED 0.5 /* cycles */
#define WHOLE 0.25

/* Where results go; the first is also where a chain is closed to. */
static const int general[ROTATED] = {3, 5, 6, 7};

/* A value's way from the result of one instruction to the operand of the next. */
struct chain {
	enum form_class from, to;
	int operand;   /* of the form, that is waited for; FORM_HIDDEN */
	bool in_place; /* the same register is read and written */
};

/* ---- ways between classes ---- */

/* Moves the value from one register to another of another class; general registers are in the
 * middle of all ways.  Cycles that it adds to the chain. */
static double add_way(struct form_measure *measure, struct code *code, enum form_class from,
		      int from_number, enum form_class to, int to_number)
{
	const bool avx = cpu_has(CPU_AVX);
	const int through = from == CLASS_GENERAL ? from_number
			    : to == CLASS_GENERAL ? to_number
						  : general[ROTATED - 1];
	double cycles = 0;
	if (from == CLASS_VECTOR) {
		code_add_named(code, avx ? "vmovq r64, xmm" : "movq r64, xmm", through, from_number,
			       0);
		cycles += measure->vector_and_back / 2;
	} else if (from == CLASS_MASK) {
		code_add_named(code, "kmovd r32, k", through, from_number, 0);
		cycles += measure->mask_and_back / 2;
	} else if (from == CLASS_FLAGS) {
		code_add_named(code, "cmovl r64, r64", through, CODE_CONSTANT, 0);
		cycles += 1;
	}
	if (to == CLASS_VECTOR) {
		code_add_named(code, avx ? "vmovq xmm, r64" : "movq xmm, r64", to_number, through,
			       0);
		cycles += measure->vector_and_back / 2;
	} else if (to == CLASS_MASK) {
		code_add_named(code, "kmovd k, r32", to_number, through, 0);
		cycles += measure->mask_and_back / 2;
	} else if (to == CLASS_FLAGS) {
		code_add_named(code, "cmp r64, r64", through, CODE_CONSTANT, 0);
		cycles += 1;
	}
	return cycles;
}

void form_measure_ways(struct form_measure *measure)
{
	static const enum form_class classes[] = {CLASS_VECTOR, CLASS_MASK};
	double *const cycles[] = {&measure->vector_and_back, &measure->mask_and_back};
	measure->vector_and_back = measure->mask_and_back = NAN;
	for (int i = 0; i < 2; i++) {
		struct code *code = timed_code_body(measure->timed);
		if (classes[i] == CLASS_MASK && !cpu_has(CPU_AVX512F | CPU_AVX512BW))
			continue;
		for (int k = 0; k < CHAIN; k++) {
			add_way(measure, code, CLASS_GENERAL, general[0], classes[i], 2);
			add_way(measure, code, classes[i], 2, CLASS_GENERAL, general[0]);
		}
		*cycles[i] =
			timed_code_cycles(measure->timed, (struct timed_kind){KIND_XMM, false}) /
			CHAIN;
	}
}

/* ---- chains ---- */

static int rotated(enum form_class class, int k)
{
	return class == CLASS_GENERAL ? general[k % ROTATED]
	       : class == CLASS_MASK  ? 2 + k % ROTATED
				      : k % ROTATED;
}

static int destination_of(const struct form_shape *shape)
{
	for (int i = 0; i < shape->n; i++)
		if (shape->writes[i])
			return i;
	return FORM_HIDDEN;
}

/* False: the operand is none that can be waited for. */
static bool chain_of(struct insn_form form, const struct form_shape *shape, int operand,
		     struct chain *out)
{
	const int to = destination_of(shape);
	const bool hidden = operand == FORM_HIDDEN;
	*out = (struct chain){.operand = operand};
	if (hidden ? !shape->reads_flags && !shape->reads_rax : !shape->reads[operand])
		return false;
	if (!hidden && (form.operands[operand] == KIND_CL || form.operands[operand] == KIND_R8))
		return false;
	out->to = !hidden              ? form_class_of(form.operands[operand])
		  : shape->reads_flags ? CLASS_FLAGS
				       : CLASS_GENERAL;
	if (!hidden && form.operands[operand] >= KIND_A_RIP && form.operands[operand] <= KIND_A_D)
		out->to = CLASS_GENERAL;
	if (out->to == CLASS_FLAGS && shape->writes_flags)
		out->from = CLASS_FLAGS;
	else if (to != FORM_HIDDEN)
		out->from = form_class_of(form.operands[to]);
	else
		out->from = shape->writes_rax     ? CLASS_GENERAL
			    : shape->writes_flags ? CLASS_FLAGS
						  : CLASS_NONE;
	out->in_place = to == operand;
	return out->from != CLASS_NONE && out->to != CLASS_NONE;
}

/* The registers of the k-th instruction of a chain. */
static struct form_registers chained(struct insn_form form, const struct form_shape *shape,
				     const struct chain *chain, int k)
{
	const int to = destination_of(shape);
	struct form_registers registers = {{0}};
	int constant = CODE_VECTOR;
	for (int i = 0; i < shape->n; i++) {
		const enum form_class class = form_class_of(form.operands[i]);
		if (i == to && !chain->in_place)
			registers.number[i] = rotated(class, k);
		else if (i == to || i == chain->operand)
			registers.number[i] =
				rotated(class == CLASS_NONE ? CLASS_GENERAL : class, 0);
		else
			registers.number[i] = class == CLASS_VECTOR ? constant++
					      : class == CLASS_MASK ? CODE_MASK
								    : CODE_CONSTANT;
		if (i == chain->operand && chain->from == chain->to && !chain->in_place)
			registers.number[i] = to == FORM_HIDDEN ? RAX : rotated(chain->to, k - 1);
	}
	form_fix_registers(form, &registers);
	return registers;
}

/* Integers are divided by a constant: each quotient gets the dividend's bits back. */
static double add_division(struct code *code, struct insn_form form,
			   const struct form_registers *registers)
{
	code_add_named(code, "xor r32, r32", 2, 2, 0);
	code_add(code, form, registers);
	code_add_named(code, "or r64, r64", RAX, 12, 0);
	return 1;
}

/* Whether it can be measured: of divisions the chain goes through a register that is not named. */
static bool can_be_waited_for(struct insn_form form, const struct form_shape *shape, int operand,
			      struct chain *chain)
{
	return (operand < shape->n || operand == FORM_HIDDEN) &&
	       chain_of(form, shape, operand, chain) && !(shape->divides && operand != FORM_HIDDEN);
}

bool form_latencies_known(const struct form_fact *fact, const struct form_shape *shape)
{
	struct chain chain;
	for (int i = 0; i <= FORM_OPERANDS; i++)
		if (can_be_waited_for(fact->form, shape, i, &chain) && isnan(fact->latency[i]))
			return false;
	return true;
}

/* `beside_wide`: with an instruction of 512 bits to each WIDE_EVERY of the chain. */
static double latency_of(struct form_measure *measure, struct insn_form form,
			 const struct form_shape *shape, int operand, bool beside_wide)
{
	struct chain chain;
	struct code *code = timed_code_body(measure->timed);
	struct timed_kind kind = form_timed_kind(form);
	const int to = destination_of(shape);
	double added = 0;
	if (!can_be_waited_for(form, shape, operand, &chain))
		return NAN;
	for (int k = 0; k < CHAIN; k++) {
		const struct form_registers registers = chained(form, shape, &chain, k + ROTATED);
		if (shape->divides) {
			added = add_division(code, form, &registers);
			continue;
		}
		code_add(code, form, &registers);
		if (beside_wide && k % WIDE_EVERY == 0)
			code_add_named(code, "vpandq zmm, zmm, zmm", 8, CODE_VECTOR, CODE_VECTOR);
		if (chain.from != chain.to)
			added = add_way(measure, code, chain.from,
					to == FORM_HIDDEN ? RAX : registers.number[to], chain.to,
					operand == FORM_HIDDEN ? RAX : registers.number[operand]);
	}
	if (beside_wide)
		kind.vectors = KIND_ZMM;
	else if (kind.vectors == KIND_NONE)
		kind.vectors = KIND_XMM;
	const double cycles = timed_code_cycles(measure->timed, kind) / CHAIN - added;
	/* What is done by giving a register another name takes a slot, but no time of a chain.  All
	 * else is whole cycles, but for what takes one way or another by turns. */
	return cycles < ELIMINATED                   ? 0
	       : fabs(cycles - rint(cycles)) < WHOLE ? rint(cycles)
						     : cycles;
}

/* Whose results the form waits for when it waits for another one: of integers, and of numbers. */
static const char *other_form(enum form_class class)
{
	if (class == CLASS_GENERAL)
		return "imul r64, r64";
	return cpu_has(CPU_AVX) ? "vmulpd xmm, xmm, xmm" : "mulpd xmm, xmm";
}

void form_add_mixed_chain(struct code *code, struct insn_form form, const struct form_shape *shape,
			  bool with)
{
	const enum form_class class = form_class_of(form.operands[0]);
	const bool is_general = class == CLASS_GENERAL,
		   three = class == CLASS_VECTOR && cpu_has(CPU_AVX);
	const int places[] = {is_general ? general[0] : 0, is_general ? general[1] : 1};
	const int constant = is_general ? CODE_CONSTANT : CODE_VECTOR;
	const bool moves_on = with && !shape->reads[0];
	for (int k = 0; k < CHAIN; k++) {
		const int at = moves_on ? places[k % 2] : places[0],
			  to = moves_on ? places[(k + 1) % 2] : places[0];
		struct form_registers registers = {{0}};
		code_add_named(code, other_form(class), at, three ? at : constant, constant);
		for (int i = 0; i < shape->n; i++)
			registers.number[i] = shape->writes[i]             ? to
					      : i == 1 && !shape->reads[0] ? at
									   : constant;
		if (with)
			code_add(code, form, &registers);
	}
}

static double chain_with_other(struct form_measure *measure, struct insn_form form,
			       const struct form_shape *shape, bool with)
{
	struct timed_kind kind = form_timed_kind(form);
	if (kind.vectors == KIND_NONE)
		kind.vectors = KIND_XMM;
	form_add_mixed_chain(timed_code_body(measure->timed), form, shape, with);
	return timed_code_cycles(measure->timed, kind) / CHAIN;
}

/* How much longer the form takes from the result of another one than from one of its own. */
static double apart_of(struct form_measure *measure, struct insn_form form,
		       const struct form_shape *shape, double own)
{
	const enum form_class class = form_class_of(form.operands[0]);
	const bool plain = shape->n >= 2 && shape->writes[0] &&
			   (shape->reads[0] || shape->reads[1]) &&
			   form_class_of(form.operands[1]) != CLASS_MASK && !shape->divides;
	if (!plain || isnan(own) || (class != CLASS_GENERAL && class != CLASS_VECTOR) ||
	    (!shape->reads[0] && form_class_of(form.operands[1]) != class) ||
	    (class == CLASS_VECTOR && *ZydisMnemonicGetString(form.mnemonic) != 'v' &&
	     cpu_has(CPU_AVX) && form_timed_kind(form).vectors != KIND_XMM))
		return 0;
	const double apart = chain_with_other(measure, form, shape, true) -
			     chain_with_other(measure, form, shape, false) - own;
	return apart > 0.5 && apart < own + 2 ? apart : 0;
}

/* How much longer a chain of the form takes beside instructions of 512 bits. */
static double beside_wide_of(struct form_measure *measure, struct insn_form form,
			     const struct form_shape *shape, int operand, double own)
{
	const int vectors = form_timed_kind(form).vectors;
	if ((vectors != KIND_XMM && vectors != KIND_YMM) || isnan(own) || !(own > 0) ||
	    shape->divides || !cpu_has(CPU_AVX512F) ||
	    *ZydisMnemonicGetString(form.mnemonic) != 'v')
		return 0;
	const double more = latency_of(measure, form, shape, operand, true) - own;
	return more > 0.3 ? more : 0;
}

void form_latencies(struct form_measure *measure, struct insn_form form,
		    const struct form_shape *shape, struct form_fact *fact)
{
	for (int i = 0; i <= FORM_OPERANDS; i++)
		fact->latency[i] = latency_of(measure, form, shape, i, false);
	const int first = shape->n > 1 && !shape->reads[0] ? 1 : 0;
	fact->apart = apart_of(measure, form, shape, fact->latency[first]);
	fact->beside_wide = beside_wide_of(measure, form, shape, first, fact->latency[first]);
}
