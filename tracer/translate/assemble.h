/* The assembler of the code cache: each function appends one instruction, the one that its comment
 * shows, to the piece that is open in an arena.
 *
 * There are only the instructions that rfprof adds between the program's, in the forms in which it
 * needs them.  They leave the status flags and the program's stack as they are unless the comment
 * says otherwise. */
#pragma once

#include "tracer/translate/arena.h"

enum reg { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11, R12, R13, R14, R15 };
#define NO_REGISTER ((enum reg)0xff)

/* ---- places in memory ---- */

struct address {
	enum reg base, index; /* or NO_REGISTER; rsp is no index */
	uint8_t scale;        /* of the index: 1, 2, 4 or 8 */
	bool is_gs;           /* relative to the thread's slot (tracer/gate/protocol.h) */
	int32_t displacement;
};

/* displacement(base, index, scale) */
static inline struct address mem_indexed(enum reg base, enum reg index, uint8_t scale,
					 int32_t displacement)
{
	return (struct address){base, index, scale, false, displacement};
}

/* displacement(base) */
static inline struct address mem_at(enum reg base, int32_t displacement)
{
	return mem_indexed(base, NO_REGISTER, 1, displacement);
}

/* %gs:offset(, index, 8) */
static inline struct address gs_indexed(enum reg index, uint32_t offset)
{
	return (struct address){NO_REGISTER, index, 8, true, (int32_t)offset};
}

/* %gs:offset */
static inline struct address gs_at(uint32_t offset)
{
	return (struct address){NO_REGISTER, NO_REGISTER, 1, true, (int32_t)offset};
}

/* ---- labels ---- */

#define MAX_LABEL_USES 17

/* A place in an arena that instructions refer to.  One that is all 0 is not bound yet: instructions
 * that use it have a field left open until it is. */
struct label {
	uint32_t at; /* cache offset; 0: not bound */
	struct label_use {
		uint32_t site; /* cache offset of the field */
		uint8_t size;  /* 1 or 4 bytes */
	} uses[MAX_LABEL_USES];
	uint8_t n_uses;
};

/* A label for a place that is known. */
static inline struct label label_at(uint32_t offset)
{
	return (struct label){.at = offset};
}

/* The label is here, where the next byte will be appended. */
void label_bind(struct arena *arena, struct label *label);
/* The label is at that cache offset. */
void label_bind_to(struct arena *arena, struct label *label, uint32_t at);

/* The only field that uses the label, of 4 bytes, is the caller's from now on: arena_aim must give
 * it its value.  Returns its cache offset. */
uint32_t label_hand_over(const struct label *label);
/* Aims such a field at a cache offset. */
void arena_aim(struct arena *arena, uint32_t site, uint32_t destination);

/* ---- instructions ---- */

#define WITH_LABEL(name, ...) void name(struct arena *arena, struct label *label);
#define AT_ADDRESS(name, ...) void name(struct arena *arena, struct address address);
#define IMMEDIATE_AT_ADDRESS(name, ...) \
	void name(struct arena *arena, uint32_t value, struct address address);
#define REGISTER_AND_ADDRESS(name, ...) \
	void name(struct arena *arena, enum reg reg, struct address address);
#define TWO_REGISTERS(name, ...) void name(struct arena *arena, enum reg to, enum reg from);
#define VEX_WITH_ADDRESS(name, ...) \
	void name(struct arena *arena, enum reg reg, struct address address);
#define BYTES(name, ...) void name(struct arena *arena);
#include "tracer/translate/assemble.def"

/* j<condition> label (rel32); the condition is the low half of the opcode */
void emit_branch(struct arena *arena, uint8_t condition, struct label *label);
#define CONDITION_EQUAL 4
#define CONDITION_NOT_EQUAL 5
#define CONDITION_ABOVE 7
/* An instruction of the program that ends in a rel8 (loop and its like), aimed at the label. */
void emit_short_transfer(struct arena *arena, const uint8_t *bytes, size_t n, struct label *label);
void emit_lea_label(struct arena *arena, enum reg reg, struct label *label); /* lea label, %reg */

/* jmp *0(%rip), and behind it the address in the target that it goes to */
void emit_jump_far(struct arena *arena, uint64_t target);
void emit_push_imm32(struct arena *arena, int32_t value); /* pushq $value */
void emit_return(struct arena *arena);

void emit_lea(struct arena *arena, enum reg reg, struct address address);
void emit_mov_imm64(struct arena *arena, enum reg reg, uint64_t value);
void emit_mov_imm32(struct arena *arena, enum reg reg, uint32_t value); /* high half 0 */
void emit_mov_simm32(struct arena *arena, enum reg reg, int32_t value); /* sign-extended */
void emit_read_fs_base(struct arena *arena, enum reg reg);              /* rdfsbase */

/* mov %gs:offset, %reg and mov %reg, %gs:offset */
static inline void emit_gs_load(struct arena *arena, enum reg reg, uint32_t offset)
{
	emit_load(arena, reg, gs_at(offset));
}

static inline void emit_gs_store(struct arena *arena, enum reg reg, uint32_t offset)
{
	emit_store(arena, reg, gs_at(offset));
}

void emit_not(struct arena *arena, enum reg reg);                /* not %reg */
void emit_rorx(struct arena *arena, enum reg reg, uint8_t bits); /* rorx $bits, %reg, %reg */

/* These change the flags. */
void emit_shr(struct arena *arena, enum reg reg, uint8_t bits);       /* shr $bits, %reg */
void emit_and_eax(struct arena *arena, uint32_t mask);                /* and $mask, %eax */
void emit_popcnt(struct arena *arena, enum reg reg);                  /* popcnt %reg, %reg */
void emit_test_bits(struct arena *arena, enum reg reg, uint8_t bits); /* testb $bits, %reg */
/* cmpl $value, address, where the address is in reach of 32 bits from the arena */
void emit_compare_32_near(struct arena *arena, uint64_t address, uint32_t value);

/* ---- masks, vectors, tiles ---- */

/* reg = mask register k: kmovw (AVX512F) for up to 16 bits, kmovd for up to 32 and kmovq for more
 * (AVX512BW, which every instruction with more lanes needs too). */
void emit_read_mask(struct arena *arena, enum reg reg, uint8_t k, unsigned bits);
/* reg = sign bits of the elements of a vector register: vmovmskps, vmovmskpd, vpmovmskb; 8 bytes
 * are an MMX register: pmovmskb. */
void emit_read_signs(struct arena *arena, enum reg reg, uint8_t vector, unsigned element_bits,
		     unsigned lanes);
void emit_store_ymm(struct arena *arena, uint8_t vector, struct address address); /* vmovdqu */
void emit_store_zmm(struct arena *arena, uint8_t vector, struct address address); /* vmovdqu64 */
void emit_store_tile_config(struct arena *arena, struct address address);         /* sttilecfg */
