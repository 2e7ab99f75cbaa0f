/* Which code of an image is hot, as one copy of it has counted (tracer/target/copies.h), for the
 * other copy, which is made later: there hot code is in batches of its own, of as much of a
 * function as runs together.
 *
 * In such a batch few blocks need a counter.  Those that run most go without (layout.h), and where
 * control leaves for other code, which is rare, the way there is counted instead of all that leads
 * to it. */
#pragma once

#include "base/u64_map.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct code_cache;

struct hot_code {
	double n_executions;    /* of all blocks, that it was found by */
	struct u64_map weights; /* by the addresses of blocks */
	struct u64_map called;  /* those of them that calls lead to */
	/* blocks to begin with, from which all hot code is met: first those where functions seem to
	 * begin */
	struct hot_block {
		uint64_t pc;
		bool has_entry; /* jumps through tables lead to it */
	} * blocks;
	size_t n_blocks, cap_blocks;
};

/* By how often the blocks of `from` have run, in their order.  False: memory is short. */
bool hot_code_init(struct hot_code *hot, const struct code_cache *from, const double *executions);
void hot_code_deinit(struct hot_code *hot);
/* Whether blocks run as they did when it was found: code that is not hot has no more than a
 * twentieth of the executions of `from`, and no more than a quarter falls to blocks whose part of
 * all is less than half, or more than twice, of what it was. */
bool hot_code_still_is(const struct hot_code *hot, const struct code_cache *from,
		       const double *executions);

/* The steps of hot_code_weight that stand for twice as many executions. */
#define HOT_DOUBLED 8
/* Grows with the logarithm of how often the block at pc has run; 0: it is not hot.  At most
 * HOT_MOST. */
uint16_t hot_code_weight(const struct hot_code *hot, uint64_t pc);
#define HOT_MOST (1 + 64 * HOT_DOUBLED)
/* Whether calls lead to the hot block at pc. */
bool hot_code_is_called(const struct hot_code *hot, uint64_t pc);
