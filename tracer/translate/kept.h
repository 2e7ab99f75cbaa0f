/* Batches that one process had translated, kept for others of the run: most of what processes of a
 * tree run is the same code of the same files, at other addresses.
 *
 * A batch is kept with all that its result depends on: the bytes of code that were read, and what
 * was asked of the code cache (notes.h).  Where all of that is the same again, the batch is copied
 * and its fields are moved, which gives what a translation would (replay.h). */
#pragma once

#include "tracer/translate/batch.h"
#include "tracer/translate/notes.h"

/* ---- a batch ---- */

/* A list in a batch that is kept. */
#define KEPT_LIST(type, name) \
	type *name;           \
	size_t n_##name;

/* All addresses and numbers as they were at `origin`. */
struct kept_batch {
	struct origin origin;
	bool with_entry;
	size_t batch_insns;
	size_t n_items;             /* of the plan */
	uint64_t lowest, highest;   /* addresses of the code that was read */
	uint64_t nearest, farthest; /* addresses that fields refer to, as far as from the arena */
	uint32_t n_counters, n_junctions, n_numbers;
	bool is_traced;
	uint64_t classes; /* that are traced; an operand at a constant address depends on them */
	KEPT_LIST(struct code_range, ranges)
	KEPT_LIST(uint8_t, code)
	KEPT_LIST(struct look_up, look_ups)
	KEPT_LIST(struct got_jump, got_jumps)
	KEPT_LIST(uint8_t, bytes)
	KEPT_LIST(struct field, fields)
	KEPT_LIST(struct piece, pieces)
	KEPT_LIST(struct code_block, blocks) /* without their `bytes` */
	KEPT_LIST(struct unit_counter, units)
	KEPT_LIST(uint64_t, unit_pcs)
	KEPT_LIST(struct link, links)
	KEPT_LIST(struct landing, landings)
	KEPT_LIST(struct kept_call, calls)
	KEPT_LIST(uint32_t, exclusive)
	KEPT_LIST(struct derived, derived)
	KEPT_LIST(struct new_entry, entries)
	KEPT_LIST(struct kept_group, groups)
	KEPT_LIST(struct trace_operand, operands) /* of all groups, in their order */
	struct kept_batch *newer;                 /* the one that was kept next */
	uint64_t place;                           /* key of its place */
	size_t size;                              /* bytes of memory */
};

/* ---- all that are kept ---- */

#define KEPT_VARIANTS 4          /* of one place */
#define KEPT_MEMORY (192u << 20) /* bytes, of all */

struct kept_place {
	struct kept_batch *variants[KEPT_VARIANTS]; /* NULL: no more */
	uint64_t follower;        /* key of the place that was translated next, last time; or 0 */
	bool follower_with_entry; /* as in struct kept_batch */
};

struct kept {
	struct u64_map index_of_place;
	struct kept_place *places;
	size_t n_places, cap_places;
	struct kept_batch *oldest, *newest;
	size_t size;      /* bytes of memory */
	size_t n_sharing; /* processes: nothing is kept for one alone */
	uint64_t n_replayed;
	struct recorder *recorder; /* made when it is needed first */
};

/* NULL when memory is short. */
struct kept *kept_create(void);
void kept_destroy(struct kept *kept);
/* Room for the notes of one batch at a time, or NULL when memory is short. */
struct recorder *kept_recorder(struct kept *kept);

/* The key of the code at an offset of a module; 0: nothing is kept of such code. */
uint64_t kept_key(uint32_t module, uint64_t offset);
/* Module and offset of a key. */
uint32_t kept_module(uint64_t key);
uint64_t kept_offset(uint64_t key);
/* The batches of a place, or NULL. */
struct kept_place *kept_find(const struct kept *kept, uint64_t key);

/* ---- the notes of a batch become one that is kept ---- */

/* Begins when the next batch is of the code at pc, and another of its place can be kept. */
void record_begin(struct translator *translator, struct arena *arena, uint64_t pc, uint64_t key);
/* The batch is emitted, but not published: keeps it.  Nothing is noted any more. */
void record_end(struct batch *batch, const struct plan *plan, bool with_entry);
/* There is no batch. */
void record_drop(struct translator *translator);
