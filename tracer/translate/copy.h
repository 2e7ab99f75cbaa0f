/* Copies of the program's instructions. */
#pragma once

#include "tracer/translate/batch.h"

/* Whether a rip-relative operand can reach `target` from the arena's end. */
bool in_reach(const struct arena *arena, uint64_t target);
/* Whether units of this instruction are counted: what one execution does that only shows at run
 * time: repetitions, lanes of a mask, sizes of tiles (enum work_units). */
bool emit_units_possible(const struct decoded *insn);
/* An instruction that does not transfer control, with its run-time units counted. */
void emit_plain(struct batch *batch, const struct planned *item, uint16_t orig);
/* Counters for the calls of the system call instruction at pc: the number of the first. */
uint32_t new_call_counters(struct batch *batch, uint64_t pc);
/* A row of units for a call that leaves the program's own code: its number. */
uint32_t new_out(struct batch *batch, uint64_t pc);
