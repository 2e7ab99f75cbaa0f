/* Code that finds out which accesses of a block are in classes of lines that are simulated.
 *
 * A check is in line: the address, its line, and a bit of the mask of classes.  What is in such a
 * class goes out of line, to the gate, which makes a record (tracer/gate/gate.S).  A block borrows
 * one register for all its checks where there is one that it does not use: then its pieces say so
 * (struct piece). */
#pragma once

#include "tracer/translate/batch.h"
#include "tracer/translate/trace_plan.h"

struct trace_block {
	struct trace_plan plan;
	enum reg reg;           /* borrowed for the whole block, or NO_REGISTER */
	enum piece_kind kind;   /* of the pieces of the block's instructions */
	enum reg loop_register; /* as their `reg` */
};

/* Plans the checks of the block being emitted.  Nothing is traced when the batch's translator has
 * no trace. The caller ends it with trace_plan_deinit.  `kind`: PIECE_CLEAN, or PIECE_LOOP with its
 * `loop_register`. */
void trace_begin(struct batch *batch, struct trace_block *trace, enum piece_kind kind,
		 enum reg loop_register);

/* What follows belongs to instruction `orig` of the block: a piece as trace_begin was told. */
void trace_resume_piece(struct batch *batch, const struct trace_block *trace, uint16_t orig);

/* Saves the block's borrowed register, and gives it back. */
void trace_save(struct batch *batch, const struct trace_block *trace);
void trace_restore(struct batch *batch, const struct trace_block *trace);

/* Emits what belongs in front of instruction i, and behind it. */
void trace_before(struct batch *batch, const struct trace_block *trace, size_t i, uint16_t orig);
void trace_behind(struct batch *batch, const struct trace_block *trace, size_t i, uint16_t orig);

/* Emits what is out of line. */
void emit_cold_checks(struct batch *batch);
