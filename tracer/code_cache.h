/* The code cache of one counted process: arenas of translated code, the blocks in them, and the
 * links between blocks.
 *
 * An arena is memory that the target maps r-x and the tracer maps rw.  Code is only ever
 * appended.  Every emitted byte belongs to a piece, which says what program address it stands
 * for and what the program's state is when a thread is stopped at its first byte; pieces are in
 * the order of their addresses, so one binary search explains any address in the arena. */
#pragma once

#include "base/u64_map.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum piece_kind {
	PIECE_CLEAN,	/* the program's state is exact: pc = block's pc + orig */
	PIECE_RESTART,	/* the same but rcx and rax are in their spill slots; nothing else is done */
	PIECE_FAR,	/* the same but register `reg` is in the far spill slot */
	PIECE_LOOP,	/* the same but `reg` is in the loop's spill slot and holds the counter */
	PIECE_REP,	/* exact, but rcx units are counted already that will be counted again */
	PIECE_UNITS,	/* exact, but the units of this instruction are counted already: step on */
	PIECE_COUNT,	/* exact but for rax, which is borrowed for counting: step on */
	PIECE_STEP,	/* in the middle of something: step on */
	PIECE_DATA,	/* never executed */
};

struct piece {
	uint32_t cache;		/* offset in the arena */
	uint32_t block;		/* index, or NO_BLOCK */
	uint16_t orig;		/* offset from the block's pc */
	uint8_t kind;		/* enum piece_kind */
	uint8_t reg;		/* PIECE_FAR, PIECE_LOOP */
};

#define NO_BLOCK UINT32_MAX

struct code_block {
	uint64_t pc;
	uint32_t size;		/* bytes of original code */
	uint16_t n_insns;
	uint8_t arena;
	bool stale;		/* its code is gone from the program's memory */
	bool flags_dead;	/* it writes all status flags but CF before it reads any */
	uint32_t body;		/* cache offset of the body */
	uint32_t entry;		/* cache offset of the checking entry for indirect transfers, or 0 */
	uint32_t counter;	/* counter slot */
	uint32_t counted_at;	/* cache offset behind the counter's increment */
	uint32_t module;	/* profile module */
	uint64_t module_offset;
	uint8_t *bytes;		/* copy of the original code */
};

/* Run-time units of one instruction (enum work_units). */
struct unit_counter {
	uint32_t counter;
	uint32_t module;
	uint64_t module_offset;
};

/* A rel32 field that aims at the block of `target`, or at a stub until that block exists. */
struct link {
	uint64_t target;
	uint32_t site;		/* cache offset of the rel32 */
	uint32_t next;		/* next link to the same target, or UINT32_MAX */
	uint8_t arena;
	bool is_stub;		/* `site` is the 8-aligned head of the stub itself */
};

struct arena {
	uint64_t base;		/* address in the target */
	uint8_t *host;		/* the same memory here */
	size_t size, used;
	struct piece *pieces;
	size_t n_pieces, cap_pieces;
};

#define MAX_ARENAS 4

struct code_cache {
	struct arena arenas[MAX_ARENAS];
	int n_arenas;
	struct code_block *blocks;
	size_t n_blocks, cap_blocks;
	struct unit_counter *units;
	size_t n_units, cap_units;
	struct link *links;
	size_t n_links, cap_links;
	uint64_t *stubs;	/* target pc of each stub */
	size_t n_stubs, cap_stubs;
	struct u64_map block_of_pc;
	struct u64_map links_to;	/* target pc → first link */
	struct u64_map landings;	/* pc without a block yet → checking entry behind its call */
	uint32_t n_counters;
	uint64_t lowest, highest;	/* range of all translated code */
};

void code_cache_deinit(struct code_cache *cache);

/* The live block that starts at pc, or NULL. */
struct code_block *code_cache_block(struct code_cache *cache, uint64_t pc);

/* Arena for code at pc: the nearest one.  NULL when it is nearly full. */
struct arena *code_cache_arena(struct code_cache *cache, uint64_t pc);

/* The arena that holds a target address, or NULL. */
struct arena *code_cache_arena_at(const struct code_cache *cache, uint64_t address);

/* The piece that holds a target address, or NULL. */
struct piece *code_cache_piece(const struct code_cache *cache, uint64_t address);

/* Address in the target of a cache offset. */
static inline uint64_t arena_address(const struct arena *arena, uint32_t offset)
{
	return arena->base + offset;
}

/* Adds a rel32 at `site` that aims at `target`; it is written when the block is there. */
bool code_cache_add_link(struct code_cache *cache, struct arena *arena, uint32_t site,
			 uint64_t target, bool is_stub);

/* Aims every link to `pc` in `arena` at the cache offset `destination`.  `quiet`: no other thread
 * runs translated code, so that any store is safe; else only fields inside one aligned 8-byte word
 * are stored, and the others go on through their stub, whose head is redirected. */
void code_cache_aim_links(struct code_cache *cache, struct arena *arena, uint64_t pc,
			  uint32_t destination, bool quiet);
