/* Replacement policies: which way of a set goes next.
 *
 * Each keeps an order of the ways in a word (or bytes) of the set's record, which is 0 in an empty
 * set.
 *
 * To add a policy: a name in enum cache_replacement (geometry.h) and in the attributes that
 * geometry.c reads; here what is done when a way is used, taken, and left empty; a case for it in
 * set_touch, set_replace and set_remove (set.h); the rows of policies.def that have it; and the
 * slow model that it is compared with (tests/unit/cache/cache_reference.c). */
#pragma once

#include <stdint.h>

/* The bits below bit n. */
static inline uint64_t order_low_bits(unsigned n)
{
	return n >= 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1;
}

/* ---- LRU of up to 16 ways: nibbles ----
 *
 * The ways in the order of their last use, the latest in the lowest nibble; ways without a line are
 * last.  What is stored is the difference from 0, 1, 2, … */

#define LRU_WAYS 16
#define LRU_NIBBLES UINT64_C(0xfedcba9876543210)

/* Bits below the nibble of `way`. */
static inline unsigned lru_nibble_at(uint64_t order, unsigned way)
{
	uint64_t x = order ^ way * UINT64_C(0x1111111111111111);
	return __builtin_ctzll((x - UINT64_C(0x1111111111111111)) & ~x &
			       UINT64_C(0x8888888888888888)) -
	       3;
}

/* A way was used. */
static inline void lru_touch(uint64_t *stored, unsigned way)
{
	uint64_t order = *stored ^ LRU_NIBBLES;
	if ((order & 15) == way)
		return;
	unsigned at = lru_nibble_at(order, way);
	uint64_t below = order & order_low_bits(at), above = order & ~order_low_bits(at + 4);
	*stored = (above | below << 4 | way) ^ LRU_NIBBLES;
}

/* The last of the ways. */
static inline unsigned lru_last(uint64_t stored, unsigned ways)
{
	return (stored ^ LRU_NIBBLES) >> 4 * (ways - 1) & 15;
}

/* Takes the last of the ways and makes it the first. */
static inline unsigned lru_replace(uint64_t *stored, unsigned ways)
{
	uint64_t order = *stored ^ LRU_NIBBLES, used = order_low_bits(4 * ways);
	unsigned way = lru_last(*stored, ways);
	*stored = ((order & ~used) | (order << 4 & used) | way) ^ LRU_NIBBLES;
	return way;
}

/* A way has no line any more: it is the last. */
static inline void lru_drop(uint64_t *stored, unsigned way, unsigned ways)
{
	uint64_t order = *stored ^ LRU_NIBBLES;
	unsigned at = lru_nibble_at(order, way), last = 4 * (ways - 1);
	uint64_t moved = order >> 4 & order_low_bits(last) & ~order_low_bits(at);
	uint64_t kept = (order & order_low_bits(at)) | (order & ~order_low_bits(last + 4));
	*stored = (kept | moved | (uint64_t)way << last) ^ LRU_NIBBLES;
}

/* ---- LRU of more ways: bytes ----
 *
 * The same with a byte for each way. */

static inline void lru_bytes_move(uint8_t *stored, unsigned from, unsigned to, unsigned way)
{
	for (; from > to; from--)
		stored[from] = (stored[from - 1] ^ (from - 1)) ^ from;
	for (; from < to; from++)
		stored[from] = (stored[from + 1] ^ (from + 1)) ^ from;
	stored[to] = way ^ to;
}

static inline unsigned lru_bytes_find(const uint8_t *stored, unsigned way)
{
	unsigned at = 0;
	while ((stored[at] ^ at) != way)
		at++;
	return at;
}

static inline void lru_bytes_touch(uint8_t *stored, unsigned way)
{
	if (stored[0] != way)
		lru_bytes_move(stored, lru_bytes_find(stored, way), 0, way);
}

static inline unsigned lru_bytes_last(const uint8_t *stored, unsigned ways)
{
	return stored[ways - 1] ^ (ways - 1);
}

static inline unsigned lru_bytes_replace(uint8_t *stored, unsigned ways)
{
	const unsigned way = lru_bytes_last(stored, ways);
	lru_bytes_touch(stored, way);
	return way;
}

static inline void lru_bytes_drop(uint8_t *stored, unsigned way, unsigned ways)
{
	lru_bytes_move(stored, lru_bytes_find(stored, way), ways - 1, way);
}

/* ---- Tree-PLRU: the ways are a power of two ----
 *
 * A bit for each inner node of a binary tree over the ways (node 1 is the root, 2i and 2i + 1 are
 * below i): set when the right half goes next. */

/* A way was used: turns the nodes above it away from it. */
static inline void tree_plru_touch(uint64_t *stored, unsigned way, unsigned ways)
{
	for (unsigned node = way + ways; node > 1; node /= 2) {
		uint64_t bit = UINT64_C(1) << node / 2;
		*stored = node & 1 ? *stored & ~bit : *stored | bit;
	}
}

/* The way that goes next, if none is empty. */
static inline unsigned tree_plru_victim(uint64_t stored, unsigned ways)
{
	unsigned node = 1;
	while (node < ways)
		node = 2 * node + (stored >> node & 1);
	return node - ways;
}
