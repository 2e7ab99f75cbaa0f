/* Code that finds out which accesses of a block are in classes of lines that are simulated.
 *
 * A check is in line: the address, its line, and a bit of the mask of classes.  What is in such a
 * class goes out of line, to the gate, which makes a record (tracer/gate/gate.S).  A block borrows
 * one register for all its checks where there is one that it does not use: then its pieces say so
 * (struct piece). */
#pragma once

#include "tracer/translate/emit.h"
#include "tracer/translate/trace_plan.h"

struct batch;

struct trace_block {
	struct trace_plan plan;
	enum reg reg;           /* borrowed for the whole block, or NO_REGISTER */
	enum piece_kind kind;   /* of the pieces of the block's instructions */
	enum reg loop_register; /* as their `reg` */
};

/* What is out of line: the record of a check. */
struct cold_check {
	struct trace_check check;
	uint32_t site,
		back; /* cache offsets: rel32 of the branch that leads there; where it returns to */
	uint32_t block;
	uint16_t orig;
	bool in_loop; /* as in struct piece, with `loop_register` */
	uint8_t loop_register;
	enum reg reg;   /* to be used; its value is not needed */
	uint32_t saved; /* the slot that has the program's value of it, or 0: it is not needed */
};

/* Plans the checks of a block.  Nothing is traced when the batch's translator has no trace.
 * `kind`: PIECE_CLEAN, or PIECE_LOOP with its `loop_register`. */
void trace_begin(struct batch *batch, struct trace_block *trace, const struct planned *items,
		 size_t n, enum piece_kind kind, enum reg loop_register);
void trace_end(struct trace_block *trace);

/* Saves the block's borrowed register, and gives it back. */
void trace_save(struct batch *batch, const struct trace_block *trace);
void trace_restore(struct batch *batch, const struct trace_block *trace);

/* Emits what belongs in front of instruction i, and behind it. */
void trace_before(struct batch *batch, const struct trace_block *trace, size_t i, uint16_t orig);
void trace_behind(struct batch *batch, const struct trace_block *trace, size_t i, uint16_t orig);

/* Emits what is out of line. */
void emit_cold_checks(struct batch *batch);
