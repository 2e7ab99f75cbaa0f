/* The code cache of one counted process: arenas of translated code, the blocks in them, and the
 * links between blocks. */
#pragma once

#include "base/error.h"
#include "base/u64_map.h"
#include "tracer/gate/protocol.h"
#include "tracer/translate/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NO_COUNTER UINT32_MAX
/* The junction of all control that comes from, or goes to, no block of the batch. */
#define OUTSIDE 0

/* Control that goes from one junction to another without passing a block, and is counted
 * (derive.h). */
struct crossing {
	uint32_t from, to; /* junctions */
	uint32_t counter;
};

/* A block whose count is what the flows at one of its junctions leave over. */
struct derived {
	uint32_t block;
	bool at_in; /* at its `in`; else at its `out` */
};

struct code_block {
	uint64_t pc;
	uint64_t module_offset;
	uint8_t *bytes;   /* copy of the original code (code_cache_bytes) */
	uint32_t module;  /* profile module */
	uint32_t size;    /* bytes of original code */
	uint32_t inner;   /* cache offset of the body, for control that comes from its own batch */
	uint32_t body;    /* the same for all other control; 0: not made yet (batch_body) */
	uint32_t called;  /* cache offset for calls, which come with one word too many; or 0 */
	uint32_t entry;   /* cache offset of the checking entry for jumps and calls, or 0 */
	uint32_t counter; /* counter slot, or NO_COUNTER: its count is derived */
	uint32_t counted_at; /* cache offset behind the counter's increment */
	uint32_t n_untraced; /* operands that are not traced */
	uint32_t in, out;    /* junctions that control comes from and goes to */
	uint32_t row;        /* in the profile (target/counts.c), if has_row */
	uint16_t n_insns;
	uint8_t arena;
	uint8_t dead;      /* enum dead_flags where control enters it */
	bool stale : 1;    /* its code is gone from the program's memory */
	bool falls_in : 1; /* control comes from the block before it, in whose batch it is, without
			      a link */
	bool provisional : 1; /* goes through a slot of the GOT that is not resolved yet: never
				 linked to */
	bool is_met : 1; /* in a traced run: it has been seen to run with its accesses checked */
	bool has_row : 1;
};

enum unit_kind {
	UNIT_WORK, /* run-time units of an instruction (enum work_units): one counter */
	UNIT_CALL, /* a system call instruction: CALL_COUNTERS counters from this one on */
	UNIT_OUT,  /* a call that leaves the program's own code for a library of the system: none */
};

struct unit_counter {
	uint32_t counter;
	enum unit_kind kind;
	uint32_t module;
	uint32_t block; /* that its code is in: an instruction that was translated again has
			   another counter there */
	uint64_t module_offset;
};

enum link_kind {
	LINK_JUMP, /* aims at the block's `body` */
	LINK_CALL, /* at its `called` */
	LINK_FLOW, /* at its `inner`: control stays between the blocks of one batch */
};

/* A rel32 field that aims at the block of `target`, or at a stub until that block exists. */
struct link {
	uint64_t target;
	uint32_t site;     /* cache offset of the rel32 */
	uint32_t next;     /* next link to the same target, or NOT_THERE */
	uint32_t junction; /* LINK_FLOW: the one that it leads out of; else 0 */
	uint8_t arena;
	uint8_t kind; /* enum link_kind */
	bool is_stub; /* `site` is the 8-aligned head of the stub itself */
	bool by_got;  /* the jump is only taken while a slot of the GOT holds `target` */
};

/* Code that asks for the block at pc. */
struct stub {
	uint64_t pc;
	uint8_t arena;
	bool is_call;
	bool linked; /* its head has become a jump */
};

/* The checked end of a return: code that makes sure that `pc` was returned to, right behind the
 * call wherever there is one in the cache, because the processor predicts that returns go there. */
struct landing {
	uint64_t pc;
	uint32_t at, behind; /* cache offsets of its first byte, and behind the check */
	uint32_t next;       /* landing whose pc has the same low 16 bits, plus 1; 0: none */
	uint8_t arena;
	bool keeps_flags; /* its check leaves the status flags alone */
};

/* Numbers by addresses of the program's code: those of code that was made here, and those of code
 * that was inherited (inherit.h), at addresses as they were where it was made. */
struct pc_index {
	struct u64_map own;
	const struct u64_map *lent; /* or NULL */
};
#define NOT_THERE UINT32_MAX

#define MAX_ARENAS 4
#define KEPT_MODULES 64
#define CALL_ARENA_SHIFT 28
#define CALL_OFFSET ((1u << CALL_ARENA_SHIFT) - 1)

/* Counters of blocks are put aside so many at a time, so that they lie side by side, apart from
 * those of ways out, which are rarely taken: code with many calls fills the first cache as it is.
 */
#define BLOCK_COUNTERS 64

struct code_cache {
	struct arena arenas[MAX_ARENAS];
	int n_arenas;
	struct code_block *blocks;
	size_t n_blocks, cap_blocks;
	size_t n_inherited; /* the first ones; their `bytes` are lent */
	uint8_t **bytes;    /* of all others, one behind the other */
	size_t n_bytes, cap_bytes;
	uint8_t *bytes_end;
	size_t bytes_left; /* before the end of the last of these */
	struct unit_counter *units;
	size_t n_units, cap_units;
	struct link *links;
	size_t n_links, cap_links;
	struct stub *stubs;
	size_t n_stubs, cap_stubs;
	struct pc_index block_of_pc;
	struct pc_index links_to; /* target pc → first link */
	struct landing *landings;
	size_t n_landings, cap_landings;
	struct pc_index landing_of_pc; /* pc → its newest landing */
	struct pc_index calls; /* return pc → the one call that has it: CALL_OFFSET and arena */
	/* Modules whose code was inherited and is used: where that is now, and how far it has moved
	 * (round the end of the numbers). */
	struct awake_module {
		uint64_t start, end, moved;
	} awake[KEPT_MODULES];
	size_t n_awake;
	uint32_t landing_of_cell[65536]; /* by the low 16 bits of the pc, plus 1 */
	uint32_t n_counters;
	struct put_aside block_counters;
	struct crossing *crossings;
	size_t n_crossings, cap_crossings;
	struct derived *derived; /* in the order in which their counts can be had */
	size_t n_derived, cap_derived;
	uint32_t *leaving; /* by junction: the counter of those that left it to the outside, or
			      NO_COUNTER */
	size_t n_junctions, cap_leaving; /* OUTSIDE is among them */
	uint64_t lowest, highest;        /* range of all translated code */
};

/* Adds an arena at `base` in the target, the same memory as `host` here. */
void code_cache_add_arena(struct code_cache *cache, uint64_t base, uint8_t *host, size_t size);

void code_cache_deinit(struct code_cache *cache);

/* Room for a block's `bytes`, as long as the cache is there; NULL: memory is short. */
uint8_t *code_cache_bytes(struct code_cache *cache, size_t size);
/* Gives that up for all blocks. */
void code_cache_free_bytes(struct code_cache *cache);
/* Of what is kept: whoever inherits the blocks, as they are, finds none of them before their module
 * wakes up (inherit.h). */
void code_cache_put_to_sleep(struct code_cache *cache);

/* What an index of the cache has for pc, or NOT_THERE. */
uint32_t code_cache_find(const struct code_cache *cache, const struct pc_index *index, uint64_t pc);
/* False when memory is short. */
bool pc_index_set(struct pc_index *index, uint64_t pc, uint32_t number);
bool pc_index_remove(struct pc_index *index, uint64_t pc);

/* The live block that starts at pc, or NULL. */
struct code_block *code_cache_block(struct code_cache *cache, uint64_t pc);
/* Whether there is one that is not `is_met`. */
bool code_cache_is_unmet(struct code_cache *cache, uint64_t pc);
/* The landing for returns to pc, or NULL. */
struct landing *code_cache_landing(struct code_cache *cache, uint64_t pc);

/* Whether a landing of another address in the same cell of the return table keeps (or does not
 * keep) the flags. */
bool code_cache_cell_has(const struct code_cache *cache, uint64_t pc, bool keeps_flags);

/* Whether there is room for a batch. */
bool code_cache_has_room(const struct arena *arena);
/* Arena for code at pc: the nearest one.  NULL when it is nearly full. */
struct arena *code_cache_arena(struct code_cache *cache, uint64_t pc);

/* The arena that holds a target address, or NULL. */
struct arena *code_cache_arena_at(const struct code_cache *cache, uint64_t address);

/* The program's address whose block has its `body` at a target address; 0: none has.  Looks at all
 * blocks. */
uint64_t code_cache_pc_of_body(const struct code_cache *cache, uint64_t address);

/* Whether a piece holds a target address; *piece is what it says. */
bool code_cache_piece(const struct code_cache *cache, uint64_t address, struct piece *piece);

/* Offset of a counter from the thread's GS base. */
static inline uint32_t counter_offset(uint32_t counter)
{
	return SLOT_COUNTERS + 8 * counter;
}

/* Adds a rel32 at `site` that aims at `target`; it is written when the block is there.  The only
 * error is that memory is short. */
struct rf_error *code_cache_add_link(struct code_cache *cache, const struct link *link);
/* Whether there are links of a kind to pc, out of that junction, in `arena`. */
bool code_cache_has_links(const struct code_cache *cache, const struct arena *arena, uint64_t pc,
			  enum link_kind kind, uint32_t junction);

/* Aims every such link at the cache offset `destination`.  `quiet`: no other thread runs translated
 * code, so that any store is safe; else only fields inside one aligned 8-byte word are stored, and
 * the others go on through their stub, whose head is redirected. */
void code_cache_aim_links(struct code_cache *cache, struct arena *arena, uint64_t pc,
			  enum link_kind kind, uint32_t junction, uint32_t destination, bool quiet);
