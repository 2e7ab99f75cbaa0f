/* Machine code for the code cache: the few instructions that rfprof adds between the program's.
 * None of them changes the status flags or touches the program's stack unless its name says so. */
#pragma once

#include "tracer/gate/protocol.h"
#include "tracer/translate/code_cache.h"

#include <string.h>

enum reg { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11, R12, R13, R14, R15 };

static inline void emit_bytes(struct arena *arena, const void *bytes, size_t n)
{
	memcpy(arena->host + arena->used, bytes, n);
	arena->used += n;
}

#define EMIT(arena, ...) \
	emit_bytes((arena), (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

static inline void emit_u32(struct arena *arena, uint32_t value)
{
	emit_bytes(arena, &value, sizeof(value));
}

static inline void emit_u64(struct arena *arena, uint64_t value)
{
	emit_bytes(arena, &value, sizeof(value));
}

/* mov %reg, %gs:offset */
static inline void emit_gs_store(struct arena *arena, enum reg reg, uint32_t offset)
{
	EMIT(arena, 0x65, (uint8_t)(0x48 | (reg >> 3) << 2), 0x89, (uint8_t)(0x04 | (reg & 7) << 3),
	     0x25);
	emit_u32(arena, offset);
}

/* mov %gs:offset, %reg */
static inline void emit_gs_load(struct arena *arena, enum reg reg, uint32_t offset)
{
	EMIT(arena, 0x65, (uint8_t)(0x48 | (reg >> 3) << 2), 0x8b, (uint8_t)(0x04 | (reg & 7) << 3),
	     0x25);
	emit_u32(arena, offset);
}

/* jmp *%gs:offset: 8 bytes */
static inline void emit_gs_jump(struct arena *arena, uint32_t offset)
{
	EMIT(arena, 0x65, 0xff, 0x24, 0x25);
	emit_u32(arena, offset);
}

/* incq %gs:offset; changes flags */
static inline void emit_gs_increment_flags(struct arena *arena, uint32_t offset)
{
	EMIT(arena, 0x65, 0x48, 0xff, 0x04, 0x25);
	emit_u32(arena, offset);
}

/* lea 1(%reg), %reg; not for rsp and r12, which need another encoding */
static inline void emit_lea_increment(struct arena *arena, enum reg reg)
{
	EMIT(arena, (uint8_t)(0x48 | (reg >> 3) * 5), 0x8d, (uint8_t)(0x40 | (reg & 7) * 9), 0x01);
}

/* mov $value, %reg (64 bits) */
static inline void emit_mov_imm64(struct arena *arena, enum reg reg, uint64_t value)
{
	EMIT(arena, (uint8_t)(0x48 | reg >> 3), (uint8_t)(0xb8 | (reg & 7)));
	emit_u64(arena, value);
}

/* Multi-byte no-operations (Intel SDM, NOP, table 4-12), at most 9 bytes each. */
void emit_nops(struct arena *arena, size_t n);

/* Offset of a counter from the thread's GS base. */
static inline uint32_t counter_offset(uint32_t counter)
{
	return SLOT_COUNTERS + 8 * counter;
}

/* Counts the run-time units of `insn` (enum work_units) before it runs.  `flags_dead`: the status
 * flags may be changed here. */
struct decoded;
void emit_units_before(struct arena *arena, const struct decoded *insn, uint32_t counter,
		       bool flags_dead);
/* For strings that may end early: takes back what was left of rcx. */
void emit_units_after(struct arena *arena, const struct decoded *insn, uint32_t counter);
/* Whether units of this instruction can be counted by the two functions above. */
bool emit_units_possible(const struct decoded *insn);
