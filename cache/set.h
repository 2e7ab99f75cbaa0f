/* One set of a simulated cache: its lines, which are changed and by whom, and who goes next.
 *
 * A set is a record of zeros when it is empty, so that memory that was never used needs no page:
 *
 *     struct set_header        order of use (policy_replacement.h), changed lines
 *     uint32_t lines[padded]   compact line numbers (regions.h); 0: none
 *     uint32_t who[padded]     the last writer, where the line is changed; else, above a
 *                              victim cache, who fetched it
 *     uint8_t recency[ways]    the order of use, only of LRU with more than 16 ways
 *     struct debt debts[padded]  only above a victim cache
 *
 * A victim cache gives a line away together with its change, which is then a debt of the level
 * above: it is still to be written to memory, for its writer, but the line is not changed until it
 * is written again.  Lines never move within a set.  Sets of LRU with up to 16 ways are called
 * small; nearly all are. */
#pragma once

#include "cache/geometry.h"
#include "cache/policy_replacement.h"

#include <emmintrin.h>
#include <string.h>

#define SET_SMALL LRU_WAYS

struct set_header {
	uint64_t order, changed;
};

/* What is owed of a line that is not changed. */
struct debt {
	uint32_t writer;
	uint32_t level; /* the farthest that knows of the change: 1 or 2; 0: no debt */
};

/* The record of a small set, and of one above a victim cache. */
struct small_set {
	struct set_header header;
	uint32_t lines[SET_SMALL], who[SET_SMALL];
};
struct small_debt_set {
	struct small_set set;
	struct debt debts[SET_SMALL];
};

struct set_shape {
	unsigned ways, padded;                        /* padded: a multiple of 16 */
	unsigned who_at, recency_at, debts_at, bytes; /* offsets and size of the record */
	bool tree, small, debts;
};

static inline void set_shape_init(struct set_shape *shape, const struct cache_level *level,
				  bool debts)
{
	shape->ways = level->ways;
	shape->padded = (level->ways + SET_SMALL - 1) / SET_SMALL * SET_SMALL;
	shape->tree = level->replacement == CACHE_TREE_PLRU;
	shape->small = !shape->tree && level->ways <= SET_SMALL;
	shape->who_at = sizeof(struct set_header) + shape->padded * 4;
	shape->recency_at = shape->who_at + shape->padded * 4;
	unsigned end = shape->recency_at + (shape->tree || shape->small ? 0 : shape->ways);
	shape->debts = debts;
	shape->debts_at = (end + 15) / 16 * 16;
	shape->bytes = shape->debts_at + (debts ? shape->padded * sizeof(struct debt) : 0);
}

static inline uint32_t *set_lines(void *set)
{
	return (uint32_t *)((char *)set + sizeof(struct set_header));
}

static inline uint32_t *set_who(const struct set_shape *shape, void *set)
{
	return (uint32_t *)((char *)set + shape->who_at);
}

static inline struct debt *set_debts(const struct set_shape *shape, void *set)
{
	return (struct debt *)((char *)set + shape->debts_at);
}

static inline uint8_t *set_recency(const struct set_shape *shape, void *set)
{
	return (uint8_t *)set + shape->recency_at;
}

static inline bool set_changed(const void *set, int way)
{
	return ((const struct set_header *)set)->changed >> way & 1;
}

static inline void set_clean(void *set, int way)
{
	((struct set_header *)set)->changed &= ~(UINT64_C(1) << way);
}

/* ---- Who is here ---- */

/* Which of four lines are `line`: all bits of a word. */
static inline __m128i set_match4(const uint32_t *lines, __m128i line)
{
	return _mm_cmpeq_epi32(_mm_load_si128((const __m128i *)lines), line);
}

/* Bit i: lines[i] is `line`; of 16. */
static inline unsigned set_match16(const uint32_t *lines, __m128i line)
{
	__m128i low = _mm_packs_epi32(set_match4(lines, line), set_match4(lines + 4, line));
	__m128i high = _mm_packs_epi32(set_match4(lines + 8, line), set_match4(lines + 12, line));
	return _mm_movemask_epi8(_mm_packs_epi16(low, high));
}

static inline int small_set_find(const struct small_set *set, uint32_t line)
{
	unsigned match = set_match16(set->lines, _mm_set1_epi32(line));
	return match ? __builtin_ctz(match) : -1;
}

/* The way of a line, or of the first free one for line 0; −1: not there.  Padding is 0, too: a
 * caller that looks for 0 compares with the ways. */
static inline int set_find(const struct set_shape *shape, void *set, uint32_t line)
{
	const uint32_t *lines = set_lines(set);
	__m128i needle = _mm_set1_epi32(line);
	for (unsigned i = 0; i < shape->padded; i += SET_SMALL) {
		unsigned match = set_match16(lines + i, needle);
		if (match)
			return i + __builtin_ctz(match);
	}
	return -1;
}

/* ---- Who goes next ---- */

/* A way was used. */
static inline void set_touch(const struct set_shape *shape, void *set, unsigned way)
{
	uint64_t *order = &((struct set_header *)set)->order;
	if (shape->small)
		lru_touch(order, way);
	else if (shape->tree)
		tree_plru_touch(order, way, shape->ways);
	else
		lru_bytes_touch(set_recency(shape, set), way);
}

/* The way that goes next: a free one, if any; it counts as used. */
static inline unsigned set_replace(const struct set_shape *shape, void *set)
{
	uint64_t *order = &((struct set_header *)set)->order;
	if (shape->small)
		return lru_replace(order, shape->ways);
	if (!shape->tree)
		return lru_bytes_replace(set_recency(shape, set), shape->ways);
	int empty = set_find(shape, set, 0);
	unsigned way = empty >= 0 && empty < (int)shape->ways
			       ? (unsigned)empty
			       : tree_plru_victim(*order, shape->ways);
	tree_plru_touch(order, way, shape->ways);
	return way;
}

/* Whether a line goes next: the set is full, and it is the last in the order. */
static inline bool set_is_last(const struct set_shape *shape, void *set, unsigned way)
{
	const uint64_t order = ((const struct set_header *)set)->order;
	if (shape->small)
		return lru_last(order, shape->ways) == way;
	if (!shape->tree)
		return lru_bytes_last(set_recency(shape, set), shape->ways) == way;
	const int empty = set_find(shape, set, 0);
	return (empty < 0 || empty >= (int)shape->ways) &&
	       tree_plru_victim(order, shape->ways) == way;
}

/* Takes a line out. */
static inline void set_remove(const struct set_shape *shape, void *set, unsigned way)
{
	set_lines(set)[way] = 0;
	set_clean(set, way);
	if (shape->small)
		lru_drop(&((struct set_header *)set)->order, way, shape->ways);
	else if (!shape->tree)
		lru_bytes_drop(set_recency(shape, set), way, shape->ways);
}
