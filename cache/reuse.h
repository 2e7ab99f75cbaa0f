/* Stack distances: how many other lines were used since a line was used last.  A fully associative
 * LRU cache still has the line when it holds more than that.
 *
 * Exact as long as there are no more than `max_lines` lines.  With more, lines are thinned: those
 * stay that a hash of their number chooses, half as many each time, and each stands for twice as
 * many (SHARDS: Waldspurger et al., Efficient MRC construction with SHARDS, FAST 2015, section 3.3,
 * with rates that are powers of two). An access takes O(log max_lines); memory is bounded by
 * max_lines. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct reuse;

/* How many lines were used since: those that count for all, and those of the line's own group. */
struct reuse_distance {
	uint64_t all, own;
};

struct reuse_use {
	/* Of the line: below max_lines; another line may have it once this is dropped. */
	uint32_t slot;
	bool first; /* not used before, or not known to be: no distance */
	struct reuse_distance distance;
};

/* `max_lines`: at least 2, below 2^30.  `n_groups` of lines are told apart, 0 or up to 254.
 * `dropped` (may be NULL) is told the slot of each line that is thinned out.  NULL when memory is
 * short. */
struct reuse *reuse_create(size_t max_lines, unsigned n_groups,
			   void (*dropped)(void *context, uint32_t slot), void *context);
void reuse_destroy(struct reuse *reuse);

/* A line is used, which counts for the distances of all lines.  Fills *use and returns true, or
 * false when the line is not followed.  Without groups a line's own are all. */
bool reuse_access(struct reuse *reuse, uint64_t line, struct reuse_use *use);

/* The same with a line of a group, which must always be the same one; `counts`: also for distances
 * of lines of other groups. */
bool reuse_access_of(struct reuse *reuse, uint64_t line, unsigned group, bool counts,
		     struct reuse_use *use);

/* Lines that were used since that in a slot was: what its distance would be now. */
struct reuse_distance reuse_age(const struct reuse *reuse, uint32_t slot);

/* The slot of a line, or UINT32_MAX when it is not followed. */
uint32_t reuse_slot(const struct reuse *reuse, uint64_t line);

/* How many lines each one stands for: 1, 2, 4, …; distances are multiplied by it already. */
uint64_t reuse_weight(const struct reuse *reuse);

/* Forgets all lines: the next use of each is its first.  `dropped` is not told.  Lines stay as
 * thinned out as they are. */
void reuse_forget(struct reuse *reuse);

/* As it was created. */
size_t reuse_max_lines(const struct reuse *reuse);

/* Accesses that were lost because memory was short. */
uint64_t reuse_lost(const struct reuse *reuse);
