/* What has happened before a branch: the outcomes of the branches before it, youngest first, and
 * the hashes of them by which tables are looked up (docs/branches.md). */
#pragma once

#include <stdint.h>

#define HISTORY_WORDS 4
#define HISTORY_BITS (64 * HISTORY_WORDS)

/* All zero: nothing has happened. */
struct branch_history {
	uint64_t words[HISTORY_WORDS]; /* bit 0 of the first one is the youngest */
};

/* A branch was taken or not; of a target that was chosen two bits of it are pushed. */
void history_push(struct branch_history *history, unsigned bit);

/* Spreads `x` over 64 bits, of which the upper ones are the best (Fibonacci hashing). */
static inline uint64_t history_mix(uint64_t x, uint64_t word)
{
	x = (x ^ word) * UINT64_C(0x9e3779b97f4a7c15);
	return x ^ x >> 32;
}

/* Of the branch at `place`, with so many of the youngest bits each: `lengths` rise, and are at most
 * HISTORY_BITS.  A hash is of the place, of all whole words of the bits and then of what is left.
 */
void history_hashes(const struct branch_history *history, uint64_t place, const uint16_t *lengths,
		    unsigned n, uint64_t *hashes);
