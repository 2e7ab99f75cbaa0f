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

/* What an operand can be.  The words are those of the names. */
#define FORM_KINDS(X)                                                                             \
	X(NONE, "")                                                                               \
	X(R8, "r8")                                                                               \
	X(R16, "r16")                                                                             \
	X(R32, "r32") X(R64, "r64") X(CL, "cl") X(MM, "mm") X(XMM, "xmm") X(YMM, "ymm")           \
		X(ZMM, "zmm") X(K, "k") X(ST, "st") X(TMM, "tmm")                                 \
			X(OTHER, "other") /* segments, control registers */                       \
		X(I8, "i8") X(I16, "i16") X(I32, "i32") X(I64, "i64") X(REL, "rel") X(M8, "m8")   \
			X(M16, "m16") X(M32, "m32") X(M64, "m64") X(M80, "m80") X(M128, "m128")   \
				X(M256, "m256") X(M512, "m512") X(M, "m") /* of another size */   \
		X(VX, "vx") X(VY, "vy")                                                           \
			X(VZ,                                                                     \
			  "vz") /* by a vector of indices: xmm, ymm, zmm */ /* addresses that are \
									       computed with and  \
									       not used: base,    \
									       displacement,      \
									       index, scaled */   \
		X(A_RIP, "[rip]") X(A_B, "[b]") X(A_BD, "[b+d]") X(A_BI, "[b+i]")                 \
			X(A_BID, "[b+i+d]") X(A_S, "[s]") X(A_SD, "[s+d]") X(A_BS, "[b+s]")       \
				X(A_BSD, "[b+s+d]") X(A_D, "[d]")

enum form_kind {
#define X(kind, word) KIND_##kind,
	FORM_KINDS(X)
#undef X
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
void form_parts_of(const struct full_insn *insn, struct form_parts *out);
/* Whether operand `i` is the mask register of AVX-512, which a flag of the form stands for. */
bool form_is_mask(const struct full_insn *insn, int i);
/* Whether the result is 0 whatever the register held that it has twice. */
bool form_zeroes(const struct full_insn *insn);

static inline uint64_t form_key(struct insn_form form)
{
	uint64_t key = form.mnemonic | (uint64_t)form.flags << 56;
	for (int i = 0; i < FORM_OPERANDS; i++)
		key |= (uint64_t)form.operands[i] << (16 + 8 * i);
	return key;
}

/* For tests: "vfmadd231pd ymm, ymm, ymm", "lock add m64, r64", "vaddpd zmm{k}{z}, zmm, zmm". */
#define FORM_NAME 96
void form_name(struct insn_form form, char name[FORM_NAME]);
/* For tests: the form of a name that form_name has made; false: it is none. */
bool form_find(const char *name, struct insn_form *out);
/* How many operands it names. */
int form_count(struct insn_form form);
