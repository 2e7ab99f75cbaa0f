/* The last instruction of a block, when it transfers control. */
#pragma once

#include "tracer/translate/batch.h"

/* Where the jump through the GOT that ends a block goes to, if its code can rely on that; else 0.
 */
uint64_t got_value(struct batch *batch);
/* Emits the last instruction of a block when it transfers control.  Whatever can fall through
 * leaves the arena so that the next block's code may follow. */
void emit_transfer(struct batch *batch, const struct planned *item, uint16_t orig);
/* What calls need elsewhere, and what jumps through the GOT do. */
void emit_cold_calls(struct batch *batch);
void emit_got_misses(struct batch *batch);
/* The condition code of a jcc. */
uint8_t branch_condition(const struct decoded *insn);
