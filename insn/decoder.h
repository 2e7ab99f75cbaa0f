/* The one set-up of Zydis, which decodes an instruction in full; for those who ask more of it than
 * the other headers of this folder tell. */
#pragma once

#include <Zydis/Zydis.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct full_insn {
	ZydisDecodedInstruction insn;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT]; /* insn.operand_count of them */
};

/* Decodes the instruction at `bytes`, of which at most `size` are read: 64-bit mode, with all
 * operands, hidden ones too.  Returns false when there is none. */
bool decode_full(const uint8_t *bytes, size_t size, struct full_insn *out);

/* The same without operands, in half the time. */
bool decode_head(const uint8_t *bytes, size_t size, ZydisDecodedInstruction *out);

#define NO_GENERAL 0xff
/* The number (0: rax … 15: r15) of the general register that `reg` is, or is a part of; NO_GENERAL:
 * it is none. */
uint8_t general_register(ZydisRegister reg);
