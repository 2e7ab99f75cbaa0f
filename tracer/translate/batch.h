/* One batch of translation while it is emitted: what its parts (copies, counts, transfers, blocks)
 * share.
 *
 * Nothing of a batch is seen by the program before it is published.  Emission has no way back: when
 * memory runs short half-way, it is noted in `failed`, what is left is emitted in vain or left out,
 * and the batch is never published. */
#pragma once

#include "base/array.h"
#include "base/error.h"
#include "tracer/translate/assemble.h"
#include "tracer/translate/layout.h"
#include "tracer/translate/plan.h"
#include "tracer/translate/trace_plan.h"
#include "tracer/translate/translate.h"

/* A call that needs something behind the batch's blocks. */
struct call_site {
	struct label through_table; /* where an indirect call goes, if `is_indirect` */
	struct label constant;      /* the return address, if `is_pushed_from_memory` */
	bool is_indirect, is_pushed_from_memory;
	uint32_t block;
	uint16_t orig;
	uint64_t return_pc;
};

/* A jump through the GOT that does not go where it went when it was translated. */
struct got_miss {
	struct label here; /* the branches that find it out lead here */
	uint32_t block;
	uint16_t orig;
	struct decoded insn;
};

/* Control that leaves a batch, from a junction, for code that is in none, or in another one. */
struct batch_exit {
	struct label label; /* what leads there */
	uint64_t pc;
	uint32_t junction;
};

/* What is out of line of a check of an address: its record (trace_emit.h). */
struct cold_check {
	struct trace_check check;
	struct label record, back; /* the branch leads to `record`; it returns to `back` */
	uint32_t block;
	struct piece piece; /* that it is */
	enum reg reg;       /* to be used; its value is not needed */
	uint32_t saved;   /* the slot that has the program's value of it, or 0: it is not needed */
	bool is_transfer; /* it is noted that the block has run */
};

struct batch {
	struct translator *translator;
	struct code_cache *cache;
	struct arena *arena;
	const struct layout *layout;
	size_t first_block, first_link;
	uint32_t block;              /* the block being emitted */
	const struct planned *items; /* its instructions */
	size_t n_items;
	bool count_in_transfer; /* its counter is raised by its last instruction's code */
	struct call_site *calls;
	size_t n_calls, cap_calls;
	struct got_miss *got_misses;
	size_t n_got_misses, cap_got_misses;
	struct batch_exit *exits;
	size_t n_exits, cap_exits;
	struct wanted {
		uint64_t pc;
		enum link_kind kind;
	} * wanted; /* targets of this batch's transfers */
	size_t n_wanted, cap_wanted;
	/* return addresses whose flags matter, in cells that others have, too */
	uint64_t *exclusive;
	size_t n_exclusive, cap_exclusive;
	uint64_t entry_due; /* the block at this pc, the first one, must have an entry; 0: none */
	uint64_t next_pc;   /* where control falls to behind the block being emitted; 0: nowhere */
	bool fell_in;       /* the last transfer was left out, for that */
	uint64_t landing_due;  /* the code behind the call just emitted must land there; 0: no */
	uint8_t spilled;       /* of the pieces (struct piece) */
	uint64_t slots_in_use; /* bit n: a borrowed register's value is at %gs:8n */
	struct cold_check *cold_checks;
	size_t n_cold_checks, cap_cold_checks;
	uint64_t got_value; /* where the GOT jump that ends the block will go; 0: it has none */
	bool failed;        /* memory ran short */
};

/* Begins a batch in an arena of the translator's cache; `block`: the one that is emitted, or
 * NO_BLOCK. */
void batch_open(struct batch *batch, struct translator *translator, struct arena *arena,
		uint32_t block);
/* Ends it: no code may be left open.  Returns false when it failed; then the translator has, too.
 */
bool batch_close(struct batch *batch);

/* Takes note of an error, which can only be that memory is short. */
void batch_check(struct batch *batch, struct rf_error *error);
/* rf_array_add with that check. */
#define batch_push(batch, items, n, cap, value) \
	batch_check((batch), rf_array_add(items, n, cap, value))

/* What follows in the arena belongs to a new piece of the block being emitted. */
void batch_piece(struct batch *batch, enum piece_kind kind, uint16_t orig);
/* The same, with what else the piece says in `piece`. */
void batch_piece_of(struct batch *batch, struct piece piece);

/* The field of the instruction just emitted, the label's only one, becomes a link to the block of
 * pc, wherever that will be; batch_publish will aim it.  LINK_FLOW: where the layout has the way
 * from the end of the block being emitted, or (layout.counts_exits) a way out is counted. */
void batch_link(struct batch *batch, const struct label *label, uint64_t pc, enum link_kind kind);
/* A jump that is such a link. */
void batch_jump(struct batch *batch, uint64_t pc, enum link_kind kind);
/* Whether a transfer to pc at the end of the block being emitted can be left out, since the block
 * there is emitted next.  It must be left out then. */
bool batch_falls_to(struct batch *batch, uint64_t pc);

/* ---- registers to borrow ---- */

/* Registers that need no REX bit as a base, without rsp and rbp, whose encodings differ. */
extern const enum reg low_registers[6];
/* All but rsp, and r12, whose encoding as a base is longer. */
extern const enum reg any_register[14];
#define N_REGISTERS(list) (sizeof(list) / sizeof((list)[0]))

/* The first register of the list that is not in `used` (bit n: number n), or NO_REGISTER. */
enum reg free_register(unsigned used, const enum reg *list, size_t n);

/* Keeps the program's value of a register in a free slot of the thread (G_SPILL_…), to use the
 * register; and gives it back. */
void borrow_register(struct batch *batch, enum reg reg, uint32_t slot);
void give_register_back(struct batch *batch, enum reg reg, uint32_t slot);
