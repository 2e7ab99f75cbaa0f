/* What a walk by size tells of the caches: where they end, and how much of the last one a thread
 * has.
 *
 * A thread chases pointers through more and more bytes in random order, and reads them one after
 * another.  Latency can only rise with the size; other load only makes a walk slower.  So a size
 * counts as no slower than any larger one: its latency is the lowest of its own and all larger
 * sizes', and a spell of load at some sizes leaves no trace. */
#pragma once

#include "machine/data/machine.h"

/* A rise of the latency: the last size before it, the first size behind it, by their indices. */
struct size_knee {
	size_t before, behind;
};
#define SIZE_KNEES 8

/* The rises, ascending: sizes over which the latency grows by SIZE_RISE or more at each step, to
 * SIZE_KNEE times or more in all; returns how many. */
#define SIZE_RISE 1.12
#define SIZE_KNEE 1.5
size_t size_knees(const struct size_point *sizes, size_t n, struct size_knee knees[SIZE_KNEES]);

/* The latency that a size counts for, ns: the lowest of its own and all larger ones'. */
double size_latency(const struct size_point *sizes, size_t n, size_t i);

/* What the last cache holds for one thread. */
struct size_verdict {
	uint64_t reported; /* bytes; 0: no cache is reported, or nothing was measured */
	/* From this size on both walks are as in memory; 0: not seen. */
	uint64_t chase_end, read_end;
	/* What a simulation should take, reported / 2^k; `reported` where there is no reason to
	 * doubt it, or where the walks are not clear. */
	uint64_t effective;
	bool clear; /* the walks tell the same, by their best and by their median repeats */
};
struct size_verdict size_verdict(const struct machine *machine);
