/* Machine code of forms of instructions, by Zydis' encoder: only of those that can be executed here
 * without harm, whatever is in the registers. */
#pragma once

#include "insn/decoder.h"
#include "insn/form.h"

/* General registers with a purpose of their own: constants, the buffer's middle, the turns. */
enum { CODE_COUNT = 1 /* rcx */, CODE_CONSTANT = 13, CODE_BUFFER = 14, CODE_TURNS = 15 };
/* Vector registers with a constant; the last is all ones.  k1 is all ones, too. */
enum { CODE_VECTOR = 13, CODE_OTHER_VECTOR = 14, CODE_ONES = 15, CODE_MASK = 1 };

/* Half of the buffer that operands in memory lie in, in bytes. */
#define CODE_BUFFER_HALF 8192

struct code {
	uint8_t *bytes;
	size_t size, capacity;
	bool failed; /* no room, or something could not be encoded */
};

/* Which register of its class each operand is; of one in memory: the displacement. */
struct form_registers {
	int number[FORM_OPERANDS];
};

/* Appends one instruction. */
void code_add(struct code *code, struct insn_form form, const struct form_registers *registers);
void code_add_bytes(struct code *code, const void *bytes, size_t size);
/* The same of a form by its name, with its operands' registers. */
void code_add_named(struct code *code, const char *name, int first, int second, int third);

/* What executing a form takes and gives. */
struct form_shape {
	int n;                                            /* operands */
	bool reads[FORM_OPERANDS], writes[FORM_OPERANDS]; /* registers */
	bool reads_flags, writes_flags;
	bool reads_rax, writes_rax; /* without naming it */
	bool reads_rdx;
	bool divides; /* integers: which may fault */
};

/* False: it cannot be encoded, this processor does not have it, or it is none that may be executed:
 * privileged ones, such as go elsewhere, repeat, or touch memory, registers or state that they do
 * not name. */
bool form_shape_of(struct insn_form form, struct form_shape *out);

/* Whether an instruction of a program may be executed with whatever its registers hold: this
 * processor has it, it is of a category that computes, moves or prefetches, and what it writes are
 * registers of general purpose, vectors, masks, flags and the memory that it names.  No branch is
 * among them. */
bool code_may_run(const struct full_insn *insn);
