/* What operands_of says of instructions, kept by their bytes: code repeats itself. */
#pragma once

#include "insn/operands.h"

struct operand_cache;
/* NULL: memory is short. */
struct operand_cache *operand_cache_create(void);
void operand_cache_destroy(struct operand_cache *cache);

/* As operands_of. */
void operand_cache_find(struct operand_cache *cache, const struct decoded *insn,
			struct operands *out);
