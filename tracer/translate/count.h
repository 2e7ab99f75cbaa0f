/* Raising the counter of a block: where in it, and through which register. */
#pragma once

#include "tracer/translate/batch.h"

/* Raises the block's counter: through a register whose value is not needed, through a borrowed
 * one, or directly where the status flags are dead. */
void emit_count_in(struct batch *batch, enum reg reg);
void emit_count_borrowing(struct batch *batch, enum reg reg, uint16_t orig);
void emit_count_flags(struct batch *batch);
/* Raises another counter, by the state of the flags (enum dead_flags). */
void emit_count_other(struct batch *batch, uint32_t counter, uint8_t dead);

/* Where and how a block is counted. */
struct count_place {
	size_t before;   /* instruction; the number of instructions: in the last one's code */
	bool flags_dead; /* status flags may be changed there */
};
struct count_place count_place(const struct batch *batch);
/* A register to borrow for counting in the block. */
enum reg count_register(const struct batch *batch);
