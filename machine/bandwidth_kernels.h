/* The bandwidth kernels: one row per kernel; the same list makes the code
 * (bandwidth_kernels.S) and the table (bandwidth_kernels.c).
 *
 * `streams`: parts of each array that are walked through at the same time ([Steinmann 2012]
 * ch. 5); the best number is searched at run time.  The operations:
 *   read      xor of a            1 array
 *   write     a = constant        1 array
 *   copy      a = b               2 arrays
 *   triad     a = b + s * c       3 arrays
 * and write_nt, copy_nt, triad_nt with non-temporal stores. */
#pragma once

/* An array's size must be a multiple of this: the largest streams * bytes per iteration. */
#define BANDWIDTH_GRAIN 2048

/* X(isa, op, streams, needs) */
#define BANDWIDTH_KERNELS(X)                                                                       \
	X(avx512f, read, 1, CPU_AVX512F)                                                           \
	X(avx512f, read, 2, CPU_AVX512F)                                                           \
	X(avx512f, read, 4, CPU_AVX512F)                                                           \
	X(avx512f, write, 1, CPU_AVX512F)                                                          \
	X(avx512f, write, 2, CPU_AVX512F)                                                          \
	X(avx512f, write, 4, CPU_AVX512F)                                                          \
	X(avx512f, copy, 1, CPU_AVX512F)                                                           \
	X(avx512f, copy, 2, CPU_AVX512F)                                                           \
	X(avx512f, triad, 1, CPU_AVX512F)                                                          \
	X(avx512f, triad, 2, CPU_AVX512F)                                                          \
	X(avx512f, write_nt, 1, CPU_AVX512F)                                                       \
	X(avx512f, write_nt, 2, CPU_AVX512F)                                                       \
	X(avx512f, copy_nt, 1, CPU_AVX512F)                                                        \
	X(avx512f, copy_nt, 2, CPU_AVX512F)                                                        \
	X(avx512f, triad_nt, 1, CPU_AVX512F)                                                       \
	X(avx512f, triad_nt, 2, CPU_AVX512F)                                                       \
	X(avx2, read, 1, CPU_AVX)                                                                  \
	X(avx2, read, 2, CPU_AVX)                                                                  \
	X(avx2, read, 4, CPU_AVX)                                                                  \
	X(avx2, write, 1, CPU_AVX)                                                                 \
	X(avx2, write, 2, CPU_AVX)                                                                 \
	X(avx2, write, 4, CPU_AVX)                                                                 \
	X(avx2, copy, 1, CPU_AVX)                                                                  \
	X(avx2, copy, 2, CPU_AVX)                                                                  \
	X(avx2, triad, 1, CPU_AVX)                                                                 \
	X(avx2, triad, 2, CPU_AVX)                                                                 \
	X(avx2, write_nt, 1, CPU_AVX)                                                              \
	X(avx2, write_nt, 2, CPU_AVX)                                                              \
	X(avx2, copy_nt, 1, CPU_AVX)                                                               \
	X(avx2, copy_nt, 2, CPU_AVX)                                                               \
	X(avx2, triad_nt, 1, CPU_AVX)                                                              \
	X(avx2, triad_nt, 2, CPU_AVX)                                                              \
	X(sse2, read, 1, CPU_BASE)                                                                 \
	X(sse2, read, 2, CPU_BASE)                                                                 \
	X(sse2, write, 1, CPU_BASE)                                                                \
	X(sse2, write, 2, CPU_BASE)                                                                \
	X(sse2, copy, 1, CPU_BASE)                                                                 \
	X(sse2, copy, 2, CPU_BASE)                                                                 \
	X(sse2, triad, 1, CPU_BASE)                                                                \
	X(sse2, triad, 2, CPU_BASE)                                                                \
	X(sse2, write_nt, 1, CPU_BASE)                                                             \
	X(sse2, write_nt, 2, CPU_BASE)                                                             \
	X(sse2, copy_nt, 1, CPU_BASE)                                                              \
	X(sse2, copy_nt, 2, CPU_BASE)                                                              \
	X(sse2, triad_nt, 1, CPU_BASE)                                                             \
	X(sse2, triad_nt, 2, CPU_BASE)

#ifndef __ASSEMBLER__
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bandwidth_state {
	_Alignas(64) double constant[8]; /* what write stores; s of triad */
	_Alignas(64) uint64_t sum[8];	 /* read: xor of all 64-bit words by lane */
};

struct bandwidth_kernel {
	const char *isa, *op;
	int streams;
	int arrays;		/* bytes moved are arrays * bytes * passes */
	unsigned needs;		/* enum cpu_feature bits */
	bool non_temporal;
	/* Walks `passes` times through the arrays of `bytes` bytes each (a multiple of
	 * BANDWIDTH_GRAIN, not 0; 64-byte aligned). */
	void (*run)(void *a, const void *b, const void *c, size_t bytes, uint64_t passes,
		    struct bandwidth_state *state);
};

extern const struct bandwidth_kernel bandwidth_kernels[];
extern const size_t n_bandwidth_kernels;

/* Constant 2^-30, sum 0: with arrays of about 1, triad leaves values of about 1. */
void bandwidth_state_init(struct bandwidth_state *state);
#endif
