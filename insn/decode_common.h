/* A short cut past Zydis for common encodings. */
#pragma once

#include "insn/decode.h"

/* As decode_instruction, for nearly all instructions outside of vector kernels: returns false for
 * the others, and then *out means nothing. */
bool decode_common(const uint8_t *bytes, size_t size, uint64_t pc, struct decoded *out);
