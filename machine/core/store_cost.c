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

/* A loop in the body, as compilers make them: a piece of code before it, and a turn. */
struct inner_loop {
	const char *before, *turn;
	size_t before_size, turn_size;
};
#define INNER_LOOP(before, turn)                                   \
	{                                                          \
		before, turn, sizeof(before) - 1, sizeof(turn) - 1 \
	}
#define FEW_TURNS 32
#define MANY_TURNS 96

static double cycles_of_turns(struct form_measure *measure, const struct inner_loop *loop,
			      uint32_t turns)
{
	struct code *code = timed_code_body(measure->timed);
	const char back = (char)-(loop->turn_size + 4);
	add(code, loop->before, loop->before_size);
	ADD(code, "\xbe"); /* mov esi, turns */
	code_add_bytes(code, &turns, sizeof(turns));
	add(code, loop->turn, loop->turn_size);
	ADD(code, "\xff\xce\x75"); /* dec esi; jnz */
	code_add_bytes(code, &back, sizeof(back));
	return cycles_of(measure);
}

/* Of a turn, without what comes before it and behind it. */
static double cycles_of_turn(struct form_measure *measure, const struct inner_loop *loop)
{
	return (cycles_of_turns(measure, loop, MANY_TURNS) -
		cycles_of_turns(measure, loop, FEW_TURNS)) /
	       (MANY_TURNS - FEW_TURNS);
}

/* mov rbx, [r14 + 64]; add rbx, r13; mov [r14 + 64], rbx; or the same of xmm3 without an addition.
 */
static double forward_still(struct form_measure *measure, bool vector)
{
	static const struct inner_loop loops[] = {
		INNER_LOOP("", "\x49\x8b\x5e\x40\x4c\x01\xeb\x49\x89\x5e\x40"),
		INNER_LOOP("", "\x41\x0f\x10\x5e\x40\x41\x0f\x11\x5e\x40"),
	};
	return cycles_of_turn(measure, &loops[vector]) - !vector;
}

/* What a turn stores the next one loads, from the next place.  The value goes on from one time
 * around to the next, too: a core that guesses which store a load belongs to is never wrong.
 *     lea rdi, [r14 + 8]; mov [rdi - 8], rbx
 *     mov rbx, [rdi - 8]; add rbx, r13; mov [rdi], rbx; add rdi, 8
 * or the same of xmm3, 16 bytes, without an addition */
static double forward_moving(struct form_measure *measure, bool vector)
{
	static const struct inner_loop loops[] = {
		INNER_LOOP("\x49\x8d\x7e\x08\x48\x89\x5f\xf8",
			   "\x48\x8b\x5f\xf8\x4c\x01\xeb\x48\x89\x1f\x48\x83\xc7\x08"),
		INNER_LOOP("\x49\x8d\x7e\x10\x0f\x11\x5f\xf0",
			   "\x0f\x10\x5f\xf0\x0f\x11\x1f\x48\x83\xc7\x10"),
	};
	return cycles_of_turn(measure, &loops[vector]) - !vector;
}

/* The same with an index, of eight bytes:
 *     xor edx, edx; mov [r14 + rdx * 8], rbx
 *     mov rbx, [r14 + rdx * 8]; add rbx, r13; mov [r14 + rdx * 8 + 8], rbx; add rdx, 1 */
static double forward_indexed(struct form_measure *measure, bool vector)
{
	static const struct inner_loop loops[] = {
		INNER_LOOP("\x31\xd2\x49\x89\x1c\xd6",
			   "\x49\x8b\x1c\xd6\x4c\x01\xeb\x49\x89\x5c\xd6\x08\x48\x83\xc2\x01"),
		INNER_LOOP("\x31\xd2\x41\x0f\x11\x1c\xd6",
			   "\x41\x0f\x10\x1c\xd6\x41\x0f\x11\x5c\xd6\x10\x48\x83\xc2\x02"),
	};
	return cycles_of_turn(measure, &loops[vector]) - !vector;
}

/* add [r14 + 64], r13 */
static double forward_update(struct form_measure *measure)
{
	static const struct inner_loop loop = INNER_LOOP("", "\x4d\x01\x6e\x40");
	return cycles_of_turn(measure, &loop) - 1;
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
		facts->forward_indexed[vector] = at_least_0(forward_indexed(measure, vector));
		facts->alias[vector] = alias(measure, vector);
	}
	facts->forward_update = at_least_0(forward_update(measure));
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
		facts->forward_indexed[vector] =
			fmin(facts->forward_indexed[vector], again->forward_indexed[vector]);
		facts->alias[vector] = fmin(facts->alias[vector], again->alias[vector]);
	}
	facts->forward_update = fmin(facts->forward_update, again->forward_update);
	facts->forward_part = fmin(facts->forward_part, again->forward_part);
	facts->blocked = fmin(facts->blocked, again->blocked);
	facts->blocked_each = fmin(facts->blocked_each, again->blocked_each);
}
