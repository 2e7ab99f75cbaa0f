/* One set of a simulated cache: its lines, which are changed and by whom, and who goes next.
 *
 * A set is a record of zeros when it is empty, so that memory that was never used needs no page:
 *
 *	struct set_header	recency, changed lines
 *	uint32_t lines[padded]	compact line numbers (regions.h); 0: none
 *	uint32_t who[padded]	the last writer, where the line is changed; else who fetched it
 *(above a victim cache) uint8_t recency[ways]	only LRU with more than 16 ways struct debt
 *debts[padded]	only above a victim cache
 *
 * A victim cache gives a line away together with its change, which is then a debt of the level
 *above: it is still to be written to memory, for its writer, but the line is not changed until it
 *is written again.
 *
 * Lines never move within a set.  LRU with up to 16 ways ("small" sets, nearly all that there are)
 *keeps the ways in the order of their last use as nibbles of a word, the latest lowest; with more
 *ways as bytes.  Ways without a line are last.  Both are stored as the difference from 0, 1, 2, …,
 *which makes the empty order 0. Tree-PLRU keeps a bit for each inner node of a binary tree over the
 *ways (node 1 is the root, 2i and 2i + 1 are below i), which tells the half that goes next. */
#pragma once

#include "cache/geometry.h"

#include <emmintrin.h>
#include <stddef.h>
#include <string.h>

#define SET_NIBBLES UINT64_C(0xfedcba9876543210)
#define SET_SMALL 16

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

static inline void set_change(const struct set_shape *shape, void *set, int way, uint32_t who)
{
	((struct set_header *)set)->changed |= UINT64_C(1) << way;
	set_who(shape, set)[way] = who;
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

/* ---- The order of use: nibbles ---- */

/* Bits below the nibble of `way`. */
static inline unsigned set_nibble_at(uint64_t order, unsigned way)
{
	uint64_t x = order ^ way * UINT64_C(0x1111111111111111);
	return __builtin_ctzll((x - UINT64_C(0x1111111111111111)) & ~x &
			       UINT64_C(0x8888888888888888)) -
	       3;
}

static inline uint64_t set_low_bits(unsigned n)
{
	return n >= 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1;
}

static inline void small_set_touch(struct set_header *header, unsigned way)
{
	uint64_t order = header->order ^ SET_NIBBLES;
	if ((order & 15) == way)
		return;
	unsigned at = set_nibble_at(order, way);
	uint64_t below = order & set_low_bits(at), above = order & ~set_low_bits(at + 4);
	header->order = (above | below << 4 | way) ^ SET_NIBBLES;
}

/* Takes the last of the ways and makes it the first. */
static inline unsigned small_set_replace(struct set_header *header, unsigned ways)
{
	uint64_t order = header->order ^ SET_NIBBLES, used = set_low_bits(4 * ways);
	unsigned way = order >> 4 * (ways - 1) & 15;
	header->order = ((order & ~used) | (order << 4 & used) | way) ^ SET_NIBBLES;
	return way;
}

static inline void small_set_drop(struct set_header *header, unsigned way, unsigned ways)
{
	uint64_t order = header->order ^ SET_NIBBLES;
	unsigned at = set_nibble_at(order, way), last = 4 * (ways - 1);
	uint64_t moved = order >> 4 & set_low_bits(last) & ~set_low_bits(at);
	uint64_t kept = (order & set_low_bits(at)) | (order & ~set_low_bits(last + 4));
	header->order = (kept | moved | (uint64_t)way << last) ^ SET_NIBBLES;
}

/* ---- The order of use: bytes ---- */

static inline void set_bytes_move(uint8_t *recency, unsigned from, unsigned to, unsigned way)
{
	for (; from > to; from--)
		recency[from] = (recency[from - 1] ^ (from - 1)) ^ from;
	for (; from < to; from++)
		recency[from] = (recency[from + 1] ^ (from + 1)) ^ from;
	recency[to] = way ^ to;
}

static inline unsigned set_bytes_find(const uint8_t *recency, unsigned way)
{
	unsigned at = 0;
	while ((recency[at] ^ at) != way)
		at++;
	return at;
}

/* ---- The order of use: a tree ---- */

/* Turns the nodes above a way away from it: a bit that is set means that the right half goes next.
 */
static inline void set_tree_touch(struct set_header *header, unsigned way, unsigned ways)
{
	for (unsigned node = way + ways; node > 1; node /= 2) {
		uint64_t bit = UINT64_C(1) << node / 2;
		header->order = node & 1 ? header->order & ~bit : header->order | bit;
	}
}

static inline unsigned set_tree_victim(const struct set_header *header, unsigned ways)
{
	unsigned node = 1;
	while (node < ways)
		node = 2 * node + (header->order >> node & 1);
	return node - ways;
}

/* ---- All of them ---- */

/* A way was used. */
static inline void set_touch(const struct set_shape *shape, void *set, unsigned way)
{
	uint8_t *recency = set_recency(shape, set);
	if (shape->small)
		small_set_touch(set, way);
	else if (shape->tree)
		set_tree_touch(set, way, shape->ways);
	else if (recency[0] != way)
		set_bytes_move(recency, set_bytes_find(recency, way), 0, way);
}

/* The way that goes next: a free one, if any; it counts as used. */
static inline unsigned set_replace(const struct set_shape *shape, void *set)
{
	unsigned last = shape->ways - 1;
	if (shape->small)
		return small_set_replace(set, shape->ways);
	int empty = shape->tree ? set_find(shape, set, 0) : -1;
	unsigned way = !shape->tree ? set_recency(shape, set)[last] ^ last
		       : empty >= 0 && empty < (int)shape->ways ? (unsigned)empty
								: set_tree_victim(set, shape->ways);
	set_touch(shape, set, way);
	return way;
}

/* Takes a line out. */
static inline void set_remove(const struct set_shape *shape, void *set, unsigned way)
{
	set_lines(set)[way] = 0;
	set_clean(set, way);
	if (shape->small)
		small_set_drop(set, way, shape->ways);
	else if (!shape->tree)
		set_bytes_move(set_recency(shape, set),
			       set_bytes_find(set_recency(shape, set), way), shape->ways - 1, way);
}
