/* Ways to blocks: what a transfer to an address of the program leads to, whether or not the code
 * there is translated. */
#pragma once

#include "tracer/translate/batch.h"

/* Takes the word of a call off the stack again. */
void emit_drop_word(struct arena *arena);

/* Where control from outside its batch enters a block: offset in the block's arena, made there if
 * need be, in room that the caller has seen to.  0: the batch has failed. */
uint32_t batch_body(struct batch *batch, struct code_block *block);
/* Code that asks for the block at pc, on an 8-byte boundary; its head can become a jump.  Calls
 * leave one word too many on the stack.  Returns its offset in the batch's arena. */
uint32_t batch_stub(struct batch *batch, uint64_t pc, bool is_call);
/* The place in the batch's arena where control for pc goes: the block itself, a way to it, or a
 * stub. */
uint32_t batch_way(struct batch *batch, uint64_t pc, bool is_call);
/* The ways out of the batch that are counted. */
void emit_exits(struct batch *batch);
/* Where control that comes from junction `junction` to pc goes when the block there is gone. */
uint32_t batch_way_out(struct batch *batch, uint64_t pc, uint32_t junction);

/* Gives each branch target of this batch its block or a stub; then aims older links at the new
 * blocks. */
void batch_publish(struct batch *batch);
