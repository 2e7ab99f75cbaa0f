/* One batch of translation while it is emitted: what its parts (copies, transfers, blocks) share.
 *
 * Nothing of a batch is seen by the program before it is published; `failed` says that memory ran
 * short, and then it never is. */
#pragma once

#include "tracer/translate/emit.h"
#include "tracer/translate/layout.h"
#include "tracer/translate/plan.h"
#include "tracer/translate/translate.h"

struct call_site {
	uint32_t site; /* rel32 of the call, when it goes through the jump table; else 0 */
	uint32_t push; /* rel32 of the push before it: where the return address is; or 0 */
	uint32_t block;
	uint16_t orig;
	uint64_t return_pc;
};

/* A jump through the GOT that does not go where it went when it was translated. */
struct got_miss {
	uint32_t sites[2]; /* rel32 of the branches that find it out; 0: none */
	uint32_t block;
	uint16_t orig;
	struct decoded insn;
};

struct batch {
	struct translator *translator;
	struct code_cache *cache;
	struct arena *arena;
	const struct layout *layout;
	uint32_t start; /* everything from here on is not yet seen by any thread */
	size_t first_block, first_link;
	uint32_t block;         /* the block being emitted */
	bool count_in_transfer; /* its counter is raised by its last instruction's code */
	struct call_site *calls;
	size_t n_calls, cap_calls;
	struct got_miss *got_misses;
	size_t n_got_misses, cap_got_misses;
	struct wanted {
		uint64_t pc;
		enum link_kind kind;
	} * wanted; /* targets of this batch's transfers */
	size_t n_wanted, cap_wanted;
	uint64_t *
		exclusive; /* return addresses whose flags matter, in cells that others have, too */
	size_t n_exclusive, cap_exclusive;
	uint64_t entry_due;   /* the block at this pc, the first one, must have an entry; 0: none */
	uint64_t landing_due; /* the code behind the call just emitted must land there; 0: no */
	uint8_t spilled;      /* of the pieces (struct piece) */
	struct cold_check *cold_checks;
	size_t n_cold_checks, cap_cold_checks;
	uint64_t got_value; /* where the GOT jump that ends the block will go; 0: it has none */
	bool failed;
};

/* ---- batch.c: pieces, links, stubs ---- */

void batch_check(struct batch *batch, bool ok);
/* What follows in the arena belongs to a new piece of the block being emitted. */
void batch_piece(struct batch *batch, enum piece_kind kind, uint16_t orig);
/* A rel32 that will aim at the block of pc; a jump to it.  Calls leave one word too many on the
 * stack. LINK_FLOW: where the layout has the way from the end of the block being emitted. */
void batch_link(struct batch *batch, uint64_t pc, enum link_kind kind);
void batch_jump(struct batch *batch, uint64_t pc, enum link_kind kind);
/* Takes the word of a call off the stack again. */
void emit_drop_word(struct arena *arena);
/* Code that asks for the block at pc, on an 8-byte boundary; its head can become a jump. */
uint32_t batch_stub(struct batch *batch, uint64_t pc, bool is_call);
/* Where control from outside its batch enters a block, in the block's arena; made if need be, in
 * room that the caller has seen to.  Batches that fail get 0. */
uint32_t batch_body(struct batch *batch, struct code_block *block);
/* The place in the batch's arena where control for pc goes: the block itself, a way to it, or a
 * stub. */
uint32_t batch_way(struct batch *batch, uint64_t pc, bool is_call);
/* Where control that comes from junction `junction` to pc goes when the block there is gone. */
uint32_t batch_way_out(struct batch *batch, uint64_t pc, uint32_t junction);
void emit_rel32_at(struct arena *arena, uint32_t site, uint64_t destination);
void emit_far_jump(struct arena *arena, uint64_t address);
/* A jump to a place in the same arena. */
void emit_jump_to(struct arena *arena, uint32_t offset);
/* Gives each branch target of this batch its block or a stub; then aims older links at the new
 * blocks. */
void batch_publish(struct batch *batch);

/* ---- registers to borrow ---- */

/* Registers that need no REX bit as a base, without rsp and rbp, whose encodings differ. */
extern const enum reg low_registers[6];
/* All but rsp and r12, which emit_lea_increment cannot encode. */
extern const enum reg any_register[14];
#define N_REGISTERS(list) (sizeof(list) / sizeof((list)[0]))
#define NO_REGISTER ((enum reg) - 1)

/* The first register of the list that is not in `used` (bit n: number n), or NO_REGISTER. */
enum reg free_register(unsigned used, const enum reg *list, size_t n);

/* ---- count.c ---- */

uint32_t new_counter(struct code_cache *cache);
uint32_t new_unit_counter(struct batch *batch, uint64_t pc);
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
struct count_place count_place(struct batch *batch, const struct planned *items, size_t n);
/* A register to borrow for counting in that block. */
enum reg count_register(const struct planned *items, size_t n);

/* ---- copy.c ---- */

/* Whether a rip-relative operand can reach `target` from the arena's end. */
bool in_reach(const struct arena *arena, uint64_t target);
/* An instruction that does not transfer control, with its run-time units counted. */
void emit_plain(struct batch *batch, const struct planned *item, uint16_t orig);

/* ---- landing.c ---- */

/* The entry for indirect jumps and calls to pc: rcx holds the wanted address.  Falls through into
 * the block with rcx and rax restored. */
void emit_entry(struct batch *batch, uint64_t pc);
/* The landing for returns to pc: -8(%rsp) holds the address that was returned to.  Falls through.
 * `flags_dead`: all status flags may be changed there. */
void emit_landing(struct batch *batch, uint64_t pc, bool flags_dead);
/* Brings older landings to terms with those of this batch. */
void emit_replaced_landings(struct batch *batch);

/* ---- transfer.c ---- */

/* Where the jump through the GOT that ends a block goes to, if its code can rely on that; else 0.
 */
uint64_t got_value(struct batch *batch, const struct planned *items, size_t n);
/* Emits the last instruction of a block when it transfers control.  Whatever can fall through
 * leaves the arena so that the next block's code may follow. */
void emit_transfer(struct batch *batch, const struct planned *item, uint16_t orig);
/* What calls need elsewhere, and what jumps through the GOT do. */
void emit_cold_calls(struct batch *batch);
void emit_got_misses(struct batch *batch);
/* The condition code of a jcc. */
uint8_t branch_condition(const struct decoded *insn);

/* ---- block.c ---- */

/* Emits all blocks of the layout. */
void emit_blocks(struct batch *batch, const struct plan *plan);
