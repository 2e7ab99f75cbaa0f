/* The form of an instruction: what its latency and its throughput depend on, which is its mnemonic
 * and the kinds of its operands, without the numbers of registers, addresses and values.  How it is
 * encoded (VEX or EVEX) makes no difference but for its mask.
 *
 * Memory is split off: "add r64, [rax]" is the form "add r64, r64" and a load, "add [rax], r64" is
 * the form, a load and a store, and a plain move from or to memory has no form of its own.  What
 * only exists with memory (gathers, locked instructions, x87) keeps its operand in memory. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FORM_OPERANDS 5
/* Where a value comes from that is no visible operand: flags, or a register that is meant without
 * being named. */
#define FORM_HIDDEN FORM_OPERANDS

/* What an operand can be. */
enum form_kind {
#define KIND(name, word) KIND_##name,
#include "insn/form_kinds.def"
#undef KIND
	FORM_N_KINDS
};

/* Flags of a form. */
#define FORM_MASKED 1  /* a mask register chooses lanes */
#define FORM_ZEROING 2 /* and the others become 0 */
#define FORM_LOCKED 4
#define FORM_REPEATED 8

/* Eight bytes without holes: two are the same form when all bytes are. */
struct insn_form {
	uint16_t mnemonic; /* ZydisMnemonic; 0: there is nothing to execute */
	uint8_t operands[FORM_OPERANDS];
	uint8_t flags;
};

/* How wide a move from or to memory is: what its rate depends on. */
enum access_width {
	ACCESS_NONE,
	ACCESS_GENERAL,
	ACCESS_128,
	ACCESS_256,
	ACCESS_512,
	ACCESS_WIDTHS
};

enum form_branch { FORM_NO_BRANCH, FORM_CONDITIONAL, FORM_JUMP };

/* An instruction taken apart. */
struct form_parts {
	struct insn_form form;
	uint8_t load, store; /* enum access_width */
	uint8_t branch;      /* enum form_branch: of a call and a return, too */
	bool indexed;        /* the address has an index */
	bool memory_in_form; /* load and store are part of the form, and measured with it */
};

struct full_insn; /* insn/decoder.h */
struct ZydisDecodedOperand_;
void form_parts_of(const struct full_insn *insn, struct form_parts *out);
/* Whether operand `i` is the mask register of AVX-512, which a flag of the form stands for. */
bool form_is_mask(const struct full_insn *insn, int i);
/* Whether an operand that is a register keeps what an instruction does not write of it, and so
 * waits for that: general registers of 8 and 16 bits (cores before Haswell had names of their own
 * for these), and scalars of SSE. */
bool form_keeps_rest(const struct full_insn *insn, const struct ZydisDecodedOperand_ *operand);
/* Whether the result is 0 whatever the register held that it has twice. */
bool form_zeroes(const struct full_insn *insn);

static inline uint64_t form_key(struct insn_form form)
{
	uint64_t key = form.mnemonic | (uint64_t)form.flags << 56;
	for (int i = 0; i < FORM_OPERANDS; i++)
		key |= (uint64_t)form.operands[i] << (16 + 8 * i);
	return key;
}

/* "vfmadd231pd ymm, ymm, ymm", "lock add m64, r64", "vaddpd zmm{k}{z}, zmm, zmm". */
#define FORM_NAME 96
void form_name(struct insn_form form, char name[FORM_NAME]);
/* The form of a name that form_name has made; false: it is none. */
bool form_find(const char *name, struct insn_form *out);
/* How many operands it names. */
int form_count(struct insn_form form);
