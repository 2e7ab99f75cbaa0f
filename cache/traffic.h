/* What moves between neighbouring levels of the memory hierarchy, as kinds of events.
 *
 * An event is one cache line that crosses a border, counted for the instruction that caused it: the
 * load or store that missed, for write-backs the store that changed the line last, and for clean
 * victims the access that fetched the line.  The border of L2 is the one between L1 and L2, and so
 * on; that of memory lies behind the last cache.  A hierarchy of two caches has no events of L3. */
#pragma once

#include <stdint.h>

#define CACHE_LINE 64 /* bytes */
/* Sets are simulated by classes: the class of a line is its number modulo this, so each class has
 * whole sets of every cache with at least as many sets. */
#define CACHE_CLASSES 64

/* The bits of `n` bytes of a line from byte `first` on. */
static inline uint64_t line_bytes(unsigned first, unsigned n)
{
	return (n >= CACHE_LINE ? UINT64_MAX : (UINT64_C(1) << n) - 1) << first % CACHE_LINE;
}

enum traffic {
	TRAFFIC_L2_READ,           /* L2 → L1 for a load */
	TRAFFIC_L2_WRITE_ALLOCATE, /* L2 → L1 for a store */
	TRAFFIC_L2_WRITE_BACK,     /* L1 → L2, changed */
	TRAFFIC_L3_READ,
	TRAFFIC_L3_WRITE_ALLOCATE,
	TRAFFIC_L3_WRITE_BACK,
	/* L2 → L3, not changed since it came up: the L3 takes what the L2 evicts. */
	TRAFFIC_L3_CLEAN_VICTIM,
	TRAFFIC_MEM_READ,
	TRAFFIC_MEM_WRITE_ALLOCATE,
	TRAFFIC_MEM_WRITE_BACK,
	TRAFFIC_MEM_NON_TEMPORAL, /* written past the caches */
	/* Of the write-allocates: the whole line is overwritten before it is read, so that a
	 * processor may do without the read. */
	TRAFFIC_MEM_EVADABLE,
	TRAFFIC_MEM_LEFT, /* changed and still in a cache at the end: not yet written back */
	/* Of all that moves to and from memory: a fully associative last cache of the same size
	 * would not have moved it (conflicts.h). */
	TRAFFIC_MEM_CONFLICT,
	/* Of all that moves to and from memory: of these lines nothing tells whether they are
	 * conflicts, nor does any other line of the same instruction. */
	TRAFFIC_MEM_CONFLICT_UNKNOWN,
	/* Open: with one more line in its set it would have crossed the border, too.  Hits in the
	 * line that its set replaces next, if hierarchy_tell_open() asks for them; that line, where
	 * it is changed, would also have been written. */
	TRAFFIC_L2_READ_OPEN,
	TRAFFIC_L2_WRITE_OPEN,
	TRAFFIC_L3_READ_OPEN,
	TRAFFIC_L3_WRITE_OPEN,
	TRAFFIC_MEM_READ_OPEN,
	TRAFFIC_MEM_WRITE_OPEN,
	N_TRAFFIC
};
