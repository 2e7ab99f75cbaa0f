/* The reference of a lockstep run: the program's instructions one by one, as the processor itself
 * executes them. */
#pragma once

#include "tests/unit/tracer/translate/lockstep.h"

#include <Zydis/Zydis.h>

#define MAX_STEPS 4096

enum step_kind {
	STEP_NEXT,
	STEP_DIRECT,
	STEP_INDIRECT,
	STEP_RETURN,
	STEP_CALL,
	STEP_CALL_INDIRECT,
	STEP_SYSCALL
};

/* One instruction of the reference. */
struct step {
	struct user_regs_struct regs; /* before it */
	uint64_t units; /* repetitions or lanes; when it faults: as counted before it */
	uint8_t length;
	uint8_t kind; /* enum step_kind */
	bool repeats, pushes_flags, has_units;
	uint64_t mask;     /* UNITS_KMASK, UNITS_VMASK: the active lanes */
	uint8_t index[64]; /* the index vector of a gather or scatter */
};

/* steps[n] was not executed: the limit was reached, it is left out, or it raised `fault`. */
struct reference {
	struct step steps[MAX_STEPS + 1];
	size_t n;
	int fault;
};
extern struct reference reference;

/* A system call is not made: it returns a number, and rcx and r11 as the processor leaves them. */
void reference_pretend_syscall(struct user_regs_struct *regs);

/* Puts memory and registers as they are at the start of both runs. */
void reference_put_initial(struct lockstep *lockstep, const struct lockstep_state *start);

/* Copies the writable memory as it is. */
void reference_keep_memory(const struct lockstep *lockstep, uint8_t *const copies[]);

/* Fills `reference`.  Returns false when the child is stuck or gone. */
bool reference_record(struct lockstep *lockstep, const struct lockstep_state *start,
		      size_t max_steps);

/* The same again up to step `at`, where memory and vector registers are kept. */
bool reference_replay(struct lockstep *lockstep, const struct lockstep_state *start, size_t at,
		      uint8_t *xstate);

/* An instruction with its operands. */
struct full {
	ZydisDecodedInstruction insn;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
};
bool reference_decode(const struct lockstep *lockstep, size_t at, struct full *full);

/* Where an operand of step `at` lies.  False for gathers, whose addresses are many. */
bool reference_address(const struct full *full, const ZydisDecodedOperand *operand, size_t at,
		       uint64_t *address);

/* Where a translated return or call leaves an address of the code cache: below the word that it
 * pops, or pushes.  0 for other steps. */
uint64_t reference_left_at(size_t step);

/* Ends the reference in front of the first step that reads there, before it is written again. */
void reference_end_at_left(const struct lockstep *lockstep);

/* The first step that is a jump through the GOT to code that reads status flags; the number of
 * steps when there is none.  In all programs but random ones such jumps go to the beginnings of
 * functions, which read none. */
size_t reference_first_got(const struct lockstep *lockstep);
