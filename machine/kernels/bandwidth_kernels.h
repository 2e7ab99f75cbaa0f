/* The bandwidth kernels: one row per kernel; the same lists (bandwidth_kernels.def) make the code
 * (bandwidth_kernels.S) and the table (bandwidth_kernels.c).
 *
 * The variants of an operation differ in width and in what follows; which is fastest depends on the
 * core, the level and the machine, and is searched at run time:
 *   streams   parts of each array that are walked through at the same time ([Steinmann 2012] ch. 5)
 *   unroll    vectors of each array and stream in one iteration
 *   group     vectors that are loaded before the first of them is stored: 1 alternates loads and
 *             stores, `unroll` puts all loads of an iteration first
 *   ahead     bytes that software prefetches run ahead of the loads and ordinary stores; 0: none
 *   body      "load" is a read that leaves the data in registers without adding them up: one
 *             instruction less where a core loads more vectors a cycle than it can combine */
#pragma once

/* An array's size must be a multiple of this: a multiple of streams * unroll * bytes of a vector of
 * each row. */
#define BANDWIDTH_GRAIN 2048

/* The most rows of one operation. */
#define BANDWIDTH_MAX_VARIANTS 20

#ifndef __ASSEMBLER__
#include "machine/data/roof_terms.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bandwidth_state {
	_Alignas(64) double constant[8]; /* what write stores; s of triad and daxpy */
	_Alignas(64) double factor[8];   /* s of update */
	/* read: xor of all 64-bit words by lane; body "load": of those of the last iteration */
	_Alignas(64) uint64_t sum[8];
};

struct bandwidth_kernel {
	enum roof_isa isa;
	enum roof_op op;
	const char *body;
	int streams, unroll, group, ahead; /* see above; "rep": 1, 1, 1, 0 */
	int arrays;
	int bytes_per_element; /* moved for each element of 8 bytes of one array: bytes of a pass
				* are bytes_per_element / 8 * bytes of an array */
	unsigned needs;        /* enum cpu_feature bits */
	bool non_temporal;
	/* Walks `passes` times through the arrays of `bytes` bytes each (a multiple of
	 * BANDWIDTH_GRAIN, not 0; 64-byte aligned). */
	void (*run)(void *a, const void *b, const void *c, size_t bytes, uint64_t passes,
		    struct bandwidth_state *state);
};

extern const struct bandwidth_kernel bandwidth_kernels[];
extern const size_t n_bandwidth_kernels;

/* Constants from 2^-30 to 2^-29, factor 1 + 2^-52, sum 0.  With arrays of about 1, or of what these
 * kernels left there, all values stay positive, finite and normal: nothing is subtracted or made
 * smaller, a pass of daxpy adds at most 2^-29 b (nothing once a is 2^25 b), and a pass of update
 * multiplies by at most 1 + 2^-51, so that 2^60 passes would be needed to leave the range. */
void bandwidth_state_init(struct bandwidth_state *state);
#endif
