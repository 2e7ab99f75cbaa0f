/* Counts of blocks that have no counter of their own.
 *
 * Where control goes from one block to the next within a batch, it passes a junction: the ends of
 * blocks that lead to the same beginnings (layout.h).  As often as control comes to a junction, it
 * leaves it.  Blocks are edges between junctions, so those of a spanning tree need no counter
 * (Knuth and Stevenson, Optimal measurement points for program frequency counts, BIT 13, 1973): the
 * others determine them.  The junction OUTSIDE stands for everything else and is in no balance. */
#pragma once

#include "tracer/translate/code_cache.h"

/* Makes a junction; *junction gets its number.  The only error of these is that memory is short. */
struct rf_error *derive_add_junction(struct code_cache *cache, uint32_t *junction);

/* A counter for control that goes from one junction to another without passing a block. */
struct rf_error *derive_add_crossing(struct code_cache *cache, uint32_t from, uint32_t to,
				     uint32_t *counter);

/* A thread that was in `block` leaves it for the outside, before it has run through.  `counted`:
 * the execution counts for the block.  `counters`: those of the thread. */
void derive_leave(struct code_cache *cache, const struct code_block *block, bool counted,
		  uint64_t *counters);

/* How often the blocks ran in a thread: `executions` gets n_blocks numbers.  False when memory is
 * short. */
bool derive_executions(const struct code_cache *cache, const uint64_t *counters,
		       int64_t *executions);
