/* Random access to lines, bound by latency: a walk along pointers, one in each line of a block of
 * memory, in an order that no prefetcher can guess.
 *
 * All lines lie on one cycle in uniformly random order, so that a line is met again only after all
 * others, and the whole block is what the caches have to hold.  Several chains walk the same cycle
 * from starts that are evenly spaced along it, so that none follows close behind another and finds
 * its lines in a cache.  The loads of a chain depend on each other; those of different chains do
 * not, and the best number of chains is searched at run time: one gives the latency, many the
 * most random lines a second that the core can have under way.
 *
 * An access counts as one line.  The loads themselves move 8 bytes.  In small pages most accesses
 * to a large block also miss the TLB; the caller gives memory of huge pages where that is not to be
 * measured. */
#pragma once

/* The most chains of a kernel. */
#define RANDOM_MAX_CHAINS 64

/* X(chains) */
#define RANDOM_KERNELS(X) X(1) X(2) X(4) X(8) X(12) X(16) X(24) X(32) X(48) X(64)

#ifndef __ASSEMBLER__
#include <stddef.h>
#include <stdint.h>

/* Where each chain is: the line that its next step loads from. */
struct random_state {
	void *at[RANDOM_MAX_CHAINS];
};

struct random_kernel {
	int chains;
	/* Takes `steps` (> 0) steps with each chain: steps * chains lines are accessed.  The next
	 * call goes on where this one ended. */
	void (*run)(uint64_t steps, struct random_state *state);
};

extern const struct random_kernel random_kernels[];
extern const size_t n_random_kernels;

/* Links all whole lines of `memory` (aligned to 16 bytes) to one cycle.  `bytes` is at least one
 * line; `line_bytes` is a multiple of 16, 64 as a rule.  The order depends on the number of lines
 * and the seed only.  The first word of a line points to the next line of the cycle; the second
 * word of line i of memory points to the i-th line of the cycle.  Takes about 30 ns a line in DRAM.
 */
void random_access_prepare(void *memory, size_t bytes, size_t line_bytes, uint64_t seed);

/* Puts `chains` chains (at most RANDOM_MAX_CHAINS; as many or fewer than the lines) at places of
 * the prepared memory's cycle that are lines / chains steps apart, rounded down. */
void random_state_init(struct random_state *state, const void *memory, size_t bytes,
		       size_t line_bytes, int chains);
#endif
