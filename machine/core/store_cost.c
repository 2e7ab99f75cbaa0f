/* Chains through memory, and rows of loads behind stores.  Loops of one load and one store, as
 * compilers make them: some cores know by the instruction's place which store a load needs, and
 * learn that of few places at once. */
#include "machine/core/store_cost.h"

#include <math.h>

#define STEPS 32 /* of a chain or a row */
#define PLACES 8 /* lines with a store and a load each */

static double cycles_of(struct form_measure *measure)
{
	return timed_code_cycles(measure->timed, (struct timed_kind){KIND_XMM, false});
}

/* A little below 0 is noise, where a load takes the value from a register.  NAN stays. */
static double at_least_0(double cycles)
{
	return cycles < 0 ? 0 : cycles;
}

static void add(struct code *code, const char *bytes, size_t size)
{
	code_add_bytes(code, bytes, size);
}
#define ADD(code, bytes) add(code, bytes, sizeof(bytes) - 1)

/* mov rbx, [r14 + 64]; add rbx, r13; mov [r14 + 64], rbx; or the same of xmm3 without an addition
 */
static double forward_still(struct form_measure *measure, bool vector)
{
	struct code *code = timed_code_body(measure->timed);
	for (int i = 0; i < STEPS; i++) {
		code_add_named(code, vector ? "movups xmm, m128" : "mov r64, m64", 3, 64, 0);
		if (!vector)
			code_add_named(code, "add r64, r64", 3, CODE_CONSTANT, 0);
		code_add_named(code, vector ? "movups m128, xmm" : "mov m64, r64", 64, 3, 0);
	}
	return timed_code_cycles(measure->timed, (struct timed_kind){KIND_XMM, false}) / STEPS -
	       !vector;
}

/* The same where the place moves on from turn to turn, which rdx tells and dl leads round:
 *     mov rbx, [r14 + rdx * 8]; add rbx, r13; add dl, 2; mov [r14 + rdx * 8], rbx */
static double forward_moving(struct form_measure *measure, bool vector)
{
	struct code *code = timed_code_body(measure->timed);
	if (vector)
		ADD(code, "\x41\x0f\x10\x1c\xd6");
	else
		ADD(code, "\x49\x8b\x1c\xd6\x4c\x01\xeb");
	ADD(code, "\x80\xc2\x02");
	if (vector)
		ADD(code, "\x41\x0f\x11\x1c\xd6");
	else
		ADD(code, "\x49\x89\x1c\xd6");
	return cycles_of(measure) - !vector;
}

/* mov [r14 + 64], rbx; movzx ebx, byte [r14 + 65]; add rbx, r13 */
static double forward_part(struct form_measure *measure)
{
	struct code *code = timed_code_body(measure->timed);
	for (int i = 0; i < STEPS; i++)
		ADD(code, "\x49\x89\x5e\x40\x41\x0f\xb6\x5e\x41\x4c\x01\xeb");
	return cycles_of(measure) / STEPS - 1;
}

/* mov [r14 + 64], ebx; mov rbx, [r14 + 64]; add rbx, r13: half of what is loaded comes from the
 * store, and half from before. */
static double blocked(struct form_measure *measure)
{
	struct code *code = timed_code_body(measure->timed);
	for (int i = 0; i < STEPS; i++)
		ADD(code, "\x41\x89\x5e\x40\x49\x8b\x5e\x40\x4c\x01\xeb");
	return cycles_of(measure) / STEPS - 1;
}

/* The same of several places, whose values do not depend on each other:
 *     mov [r14 + 64 k], ebx; mov rdi, [r14 + 64 k] */
static double blocked_each(struct form_measure *measure)
{
	struct code *code = timed_code_body(measure->timed);
	for (int i = 0; i < STEPS; i++) {
		const char at = (char)(64 * (i % PLACES) / 4); /* 16 bytes apart, within 127 */
		ADD(code, "\x41\x89\x5e");
		code_add_bytes(code, &at, 1);
		ADD(code, "\x49\x8b\x7e");
		code_add_bytes(code, &at, 1);
	}
	return cycles_of(measure) / STEPS;
}

/* Four loads and stores of a copy, to a place so far away, a turn:
 *     lea rdi, [r14 + apart]; mov rbx, [r14 + rdx * 8 + 8 k]; mov [rdi + rdx * 8 + 8 k], rbx; ...
 *     add dl, 4
 * or of numbers, by movsd.  By two registers: what is told by displacements from one, some cores
 * take for a place. */
static double copy(struct form_measure *measure, int32_t apart, bool vector)
{
	struct code *code = timed_code_body(measure->timed);
	ADD(code, "\x49\x8d\xbe");
	code_add_bytes(code, &apart, sizeof(apart));
	for (char k = 0; k < 4; k++) {
		const char at = (char)(8 * k);
		if (vector)
			ADD(code, "\xf2\x41\x0f\x10\x5c\xd6");
		else
			ADD(code, "\x49\x8b\x5c\xd6");
		code_add_bytes(code, &at, sizeof(at));
		if (vector)
			ADD(code, "\xf2\x0f\x11\x5c\xd7");
		else
			ADD(code, "\x48\x89\x5c\xd7");
		code_add_bytes(code, &at, sizeof(at));
	}
	ADD(code, "\x80\xc2\x04");
	return cycles_of(measure) / 4;
}

/* What comes next in the source has the address of what was just stored, but for 4 KiB. */
static double alias(struct form_measure *measure, bool vector)
{
	const double alike = copy(measure, 4096 + 8, vector),
		     apart = copy(measure, 4096 + 1024, vector);
	return at_least_0(alike - apart);
}

void store_cost_measure(struct form_measure *measure, struct core_facts *facts)
{
	for (int vector = 0; vector < 2; vector++) {
		facts->forward[vector] = at_least_0(forward_moving(measure, vector));
		facts->forward_still[vector] = at_least_0(forward_still(measure, vector));
		facts->alias[vector] = alias(measure, vector);
	}
	facts->forward_part = at_least_0(forward_part(measure));
	facts->blocked = at_least_0(blocked(measure));
	facts->blocked_each = blocked_each(measure);
}

void store_cost_take_shorter(struct core_facts *facts, const struct core_facts *again)
{
	for (int vector = 0; vector < 2; vector++) {
		facts->forward[vector] = fmin(facts->forward[vector], again->forward[vector]);
		facts->forward_still[vector] =
			fmin(facts->forward_still[vector], again->forward_still[vector]);
		facts->alias[vector] = fmin(facts->alias[vector], again->alias[vector]);
	}
	facts->forward_part = fmin(facts->forward_part, again->forward_part);
	facts->blocked = fmin(facts->blocked, again->blocked);
	facts->blocked_each = fmin(facts->blocked_each, again->blocked_each);
}
