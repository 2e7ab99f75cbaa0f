/* Notes of a batch while it is translated: all that its result depends on, but what follows from
 * the batch itself.
 *
 * Whatever is asked of the program's code or of the code cache while a batch is planned and emitted
 * must be noted here.  A batch whose result depends on more is not kept (kept.h). */
#pragma once

#include "tracer/translate/trace_config.h"
#include "tracer/translate/translate.h"

enum look_up_kind {
	LOOK_UP_BLOCK,       /* 0: no block at pc; else 1, and its `dead` from bit 1 on */
	LOOK_UP_LINKS,       /* whether there are links to pc */
	LOOK_UP_CALL_LINKS,  /* whether there are links of calls to pc in the batch's arena */
	LOOK_UP_CALL,        /* whether the call before pc is in the batch's arena */
	LOOK_UP_KEEPS_FLAGS, /* whether a landing in the cell of pc keeps the flags */
	LOOK_UP_ALLOCATOR, /* the allocator that begins at pc, plus 1, where accesses are traced */
};

/* What was there before the batch. */
struct look_up {
	int32_t at; /* pc, relative to the batch's */
	uint8_t kind, answer;
};

/* Code that was read: one range after the other in `code` of its batch. */
struct code_range {
	uint64_t pc;
	uint32_t size;
};

/* A jump through the GOT: what it becomes depends on the slot. */
struct got_jump {
	uint64_t slot;  /* its address */
	uint64_t value; /* what it held */
	uint32_t link;
	uint32_t block;
	bool provisional; /* the slot was not resolved yet */
	bool followed;    /* the jump goes where the slot says: `link` */
};

/* Where a batch is: what all numbers in it are relative to. */
struct origin {
	uint64_t pc;      /* of the program's code */
	uint64_t address; /* in the target */
	uint64_t start;   /* cache offset */
	uint32_t block, counter, junction, link, landing;
	uint32_t group, number; /* the next ones in the register of groups (trace_config.h) */
};

/* A group of operands that are traced (trace_config.h). */
struct kept_group {
	uint16_t n; /* operands */
	uint8_t form;
};

struct kept_call {
	uint64_t return_pc;
	uint32_t at; /* cache offset */
};

struct recorder {
	bool fits; /* all that the result depends on is noted */
	uint64_t key;
	struct arena *arena;
	struct origin origin;
	size_t n_pieces, n_units, n_derived, n_entries; /* before the batch */
	struct fields fields;
	struct code_range *ranges;
	size_t n_ranges, cap_ranges;
	uint8_t *code;
	size_t n_code, cap_code;
	struct look_up *look_ups;
	size_t n_look_ups, cap_look_ups;
	struct got_jump *got_jumps;
	size_t n_got_jumps, cap_got_jumps;
	uint64_t *unit_pcs;
	size_t n_unit_pcs, cap_unit_pcs;
	struct kept_call *calls;
	size_t n_calls, cap_calls;
	uint32_t *exclusive; /* landings whose flags matter, as numbered in the batch */
	size_t n_exclusive, cap_exclusive;
	struct kept_group *groups;
	size_t n_groups, cap_groups;
	struct trace_operand *operands; /* of all groups, in their order */
	size_t n_operands, cap_operands;
	uint64_t *values; /* of the GOT, for the replay that is tried */
	size_t n_values, cap_values;
};

void recorder_destroy(struct recorder *recorder);

/* Where the next batch would be, for code at pc. */
struct origin record_origin(const struct translator *translator, const struct arena *arena,
			    uint64_t pc);

/* What a look-up finds that was there before the batch that begins at `origin` in `arena`. */
uint8_t record_answer(const struct translator *translator, const struct arena *arena,
		      const struct origin *origin, enum look_up_kind kind, uint64_t pc);

/* ---- notes; they do nothing while nothing is recorded ---- */

/* The batch depends on something else: it is not kept. */
void record_unfit(const struct translator *translator);
/* `n` bytes of code were looked at, at pc. */
void record_code(const struct translator *translator, uint64_t pc, const uint8_t *bytes, size_t n);
void record_look_up(const struct translator *translator, enum look_up_kind kind, uint64_t pc);
void record_unit(const struct translator *translator, uint64_t pc);
/* The block being emitted ends in a jump through a slot of the GOT. */
void record_got_jump(const struct translator *translator, const struct got_jump *jump);
/* The next link is where that jump goes.  Returns the jump's number in the batch. */
uint64_t record_got_link(const struct translator *translator);
/* A call stands at that cache offset. */
void record_call(const struct translator *translator, uint64_t return_pc, uint32_t at);
/* The jump just emitted goes to the call there, which may be older than the batch. */
void record_jump_to_call(const struct translator *translator, uint64_t return_pc, uint32_t at);
/* The flags matter at the next landing. */
void record_exclusive(const struct translator *translator);
/* The groups of operands that the batch has added. */
void record_groups(const struct translator *translator, uint32_t module);
