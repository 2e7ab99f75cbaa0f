/* Counting of what one execution of an instruction does that only shows at run time: repetitions,
 * lanes of a mask, sizes of tiles (enum work_units). */
#pragma once

#include "tracer/translate/batch.h"

/* Whether units of this instruction can be counted by the functions below. */
bool emit_units_possible(const struct decoded *insn);

/* A counter for the units of the instruction at pc. */
uint32_t new_unit_counter(struct batch *batch, uint64_t pc);

/* Counts the units of `insn` before it runs.  `flags_dead`: the status flags may be changed here.
 */
void emit_units_before(struct batch *batch, const struct decoded *insn, uint32_t counter,
		       bool flags_dead);
/* For strings that may end early: takes back what was left of rcx. */
void emit_units_after(struct batch *batch, const struct decoded *insn, uint32_t counter);
