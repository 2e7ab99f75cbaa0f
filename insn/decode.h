/* Decoding for translation: what the translator needs to know of one instruction. */
#pragma once

#include "insn/flow.h"
#include "insn/work.h"

#include <stdbool.h>
#include <stdint.h>

#define LONGEST_INSN 15 /* bytes */

struct decoded {
	uint64_t pc;
	uint64_t target; /* direct transfers, and the address of a rip-relative operand */
	uint8_t bytes[LONGEST_INSN];
	uint8_t length;
	uint8_t flow; /* enum flow */
	bool rip_relative;
	bool reads_flags;    /* any status flag */
	bool kills_flags;    /* always writes OF, SF, ZF, AF and PF, whatever its operands are */
	bool keeps_carry;    /* inc, dec: does not write CF with them */
	bool restores_flags; /* popf, sahf: what they held before matters again */
	uint8_t disp_offset; /* of the disp32 of a rip-relative operand */
	uint8_t modrm_offset;
	uint8_t prefix_end; /* legacy prefixes end here (REX, VEX or opcode begins) */
	uint16_t pop_bytes; /* ret imm16 */
	uint16_t used;      /* general registers as decode_used_registers gives them, when known */
	bool used_known;
	struct work units;      /* valid when units.units != UNITS_NONE */
	const char *why_native; /* FLOW_NATIVE: reason, static text */
};

/* Decodes the instruction at pc from `size` bytes at `bytes`.  What cannot be decoded or must not
 * be copied comes back as FLOW_NATIVE. */
void decode_instruction(const uint8_t *bytes, size_t size, uint64_t pc, struct decoded *out);

/* The same by Zydis alone. */
void decode_any(const uint8_t *bytes, size_t size, uint64_t pc, struct decoded *out);

/* Which Zydis decodes: another one may see other instructions. */
uint64_t decode_version(void);

/* The general registers (bit n: number n) that the instruction reads or writes, as a whole or in
 * part, for addresses too.  All of them when it cannot be decoded. */
unsigned decode_used_registers(const struct decoded *insn);

/* Whether this processor has the registers that say which lanes of a masked instruction are active
 * (UNITS_KMASK, UNITS_VMASK).  Where it has not, the instruction raises SIGILL, which is for the
 * program to see: code that reads the mask first would raise it where the program is not. */
bool decode_mask_is_here(const struct work *work);
