/* Memory traffic as a function of the last cache's capacity, from one run.
 *
 * What leaves the private caches, reads and write-backs in the order in which the last cache sees
 *them, gives the stack distance of each use (reuse.h).  For a fully associative LRU cache of C
 *lines: a read comes from memory when C ≤ its distance, or when it is the line's first use; a line
 *that was written goes to memory, once until it is written again, when C ≤ the largest distance of
 *its uses since (the time to the end of the run counts as one). So one number for each read and
 *each write tells what happens at every capacity. */
#pragma once

#include "cache/traffic.h"

#include <stddef.h>
#include <stdint.h>

struct working_set;

/* Capacities are told apart by eighths of an octave from this many bytes on; what happens only
 * below it counts as happening up to it. */
#define WORKING_SET_LEAST (UINT64_C(64) << 10)
#define WORKING_SET_LINES (1 << 16) /* lines that are followed, a good choice: 6 MB */

/* `max_lines`: lines that are followed at most.  `n_classes`: of CACHE_CLASSES, how many are
 * simulated: only their lines are reported here; distances and counts are scaled to all.  NULL when
 * memory is short. */
struct working_set *working_set_create(size_t max_lines, unsigned n_classes);
void working_set_destroy(struct working_set *working_set);

/* An event of a hierarchy of `n_levels`, as it is noted: those that are no use of the last level
 * are passed over.  Reads and write-allocates of its border are reads, write-backs are writes, and
 * non-temporal writes reach memory with any capacity. */
void working_set_event(struct working_set *working_set, int n_levels, enum traffic event,
		       uint32_t who, uint64_t line);

/* The same by hand. */
void working_set_read(struct working_set *working_set, uint32_t who, uint64_t line);
void working_set_write(struct working_set *working_set, uint32_t who, uint64_t line);
void working_set_bypass(struct working_set *working_set, uint32_t who);

/* These lines are read from memory (written to it) when the last cache holds fewer than `capacity`
 * bytes, and are not when it holds that or more; 0: with any capacity. */
struct working_set_row {
	uint32_t who;
	uint64_t capacity, reads, writes;
};

/* The same event of the future: the line is used, by nobody, and is not changed. */
void working_set_future(struct working_set *working_set, int n_levels, enum traffic event,
			uint64_t line);

/* All caches have been emptied: the next use of each line is its first.  What was written before
 * has gone to memory in caches in which it would have by now. */
void working_set_empty(struct working_set *working_set);

/* Ends the run, and gives all rows, in no order; each who and capacity once. */
void working_set_rows(struct working_set *working_set,
		      void (*row)(void *context, const struct working_set_row *row), void *context);

/* For tests: how many lines each followed one stands for, besides the classes: 1 when nothing was
 * thinned out.
 */
uint64_t working_set_weight(const struct working_set *working_set);

/* Uses that were lost because memory was short. */
uint64_t working_set_lost(const struct working_set *working_set);

/* For tests: the least capacity of the scale that is not below `bytes`. */
uint64_t working_set_capacity(uint64_t bytes);
