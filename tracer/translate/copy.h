/* Copies of the program's instructions. */
#pragma once

#include "tracer/translate/batch.h"

/* Whether a rip-relative operand can reach `target` from the arena's end. */
bool in_reach(const struct arena *arena, uint64_t target);
/* An instruction that does not transfer control, with its run-time units counted. */
void emit_plain(struct batch *batch, const struct planned *item, uint16_t orig);
