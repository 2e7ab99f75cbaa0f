/* The bandwidth kernels: one row per kernel; the same lists make the code (bandwidth_kernels.S) and
 * the table (bandwidth_kernels.c).
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

/* X(op, arrays, bytes per element of 8, non-temporal): the bytes are those that load and store
 * instructions move.
 *   read      xor of a             write_nt, copy_nt, triad_nt: the same with non-temporal stores
 *   write     a = constant         write_rep, copy_rep: the same with string instructions, whose
 *   copy      a = b                  microcode may avoid to read the lines that it writes
 *   triad     a = b + constant * c
 *   daxpy     a = a + constant * b
 *   update    a = factor * a */
#define BANDWIDTH_OPERATIONS(X) \
	X(read, 1, 8, 0)        \
	X(write, 1, 8, 0)       \
	X(copy, 2, 16, 0)       \
	X(triad, 3, 24, 0)      \
	X(daxpy, 2, 24, 0)      \
	X(update, 1, 16, 0)     \
	X(write_nt, 1, 8, 1)    \
	X(copy_nt, 2, 16, 1)    \
	X(triad_nt, 3, 24, 1)   \
	X(write_rep, 1, 8, 0)   \
	X(copy_rep, 2, 16, 0)

/* X(code, op, body, streams, unroll, group, ahead).  Code: "fma3" is AVX2 with fused multiply-add,
 * which saves an instruction that a core of four a cycle has no room for. */
#define BANDWIDTH_READ(X, code)            \
	X(code, read, read, 1, 8, 8, 0)    \
	X(code, read, read, 1, 16, 8, 0)   \
	X(code, read, read, 2, 8, 8, 0)    \
	X(code, read, read, 4, 8, 8, 0)    \
	X(code, read, read, 1, 8, 8, 2048) \
	X(code, read, load, 1, 8, 8, 0)
#define BANDWIDTH_WRITE(X, code)           \
	X(code, write, write, 1, 8, 8, 0)  \
	X(code, write, write, 1, 16, 8, 0) \
	X(code, write, write, 2, 4, 4, 0)  \
	X(code, write, write, 2, 8, 8, 0)  \
	X(code, write, write, 4, 8, 8, 0)  \
	X(code, write, write, 1, 8, 8, 1024)
#define BANDWIDTH_COPY(X, code)          \
	X(code, copy, copy, 1, 8, 8, 0)  \
	X(code, copy, copy, 1, 8, 1, 0)  \
	X(code, copy, copy, 1, 16, 1, 0) \
	X(code, copy, copy, 2, 8, 1, 0)  \
	X(code, copy, copy, 2, 8, 8, 0)  \
	X(code, copy, copy, 1, 8, 8, 1024)
#define BANDWIDTH_TRIAD(X, code)           \
	X(code, triad, triad, 1, 2, 1, 0)  \
	X(code, triad, triad, 1, 8, 1, 0)  \
	X(code, triad, triad, 1, 16, 1, 0) \
	X(code, triad, triad, 1, 8, 8, 0)  \
	X(code, triad, triad, 2, 8, 1, 0)  \
	X(code, triad, triad, 1, 8, 1, 1024)
#define BANDWIDTH_DAXPY(X, code)           \
	X(code, daxpy, daxpy, 1, 2, 1, 0)  \
	X(code, daxpy, daxpy, 1, 8, 1, 0)  \
	X(code, daxpy, daxpy, 1, 16, 1, 0) \
	X(code, daxpy, daxpy, 1, 8, 8, 0)  \
	X(code, daxpy, daxpy, 2, 8, 8, 0)  \
	X(code, daxpy, daxpy, 1, 8, 1, 1024)
#define BANDWIDTH_UPDATE(X, code)            \
	X(code, update, update, 1, 2, 2, 0)  \
	X(code, update, update, 1, 8, 1, 0)  \
	X(code, update, update, 1, 8, 8, 0)  \
	X(code, update, update, 2, 8, 1, 0)  \
	X(code, update, update, 2, 16, 1, 0) \
	X(code, update, update, 1, 8, 1, 1024)
#define BANDWIDTH_NON_TEMPORAL_WRITE(X, code) \
	X(code, write_nt, write, 1, 8, 8, 0)  \
	X(code, write_nt, write, 1, 16, 8, 0) \
	X(code, write_nt, write, 2, 8, 8, 0)  \
	X(code, write_nt, write, 4, 8, 8, 0)
#define BANDWIDTH_NON_TEMPORAL_COPY(X, code) \
	X(code, copy_nt, copy, 1, 8, 1, 0)   \
	X(code, copy_nt, copy, 1, 8, 8, 0)   \
	X(code, copy_nt, copy, 2, 2, 2, 0)   \
	X(code, copy_nt, copy, 2, 4, 4, 0)   \
	X(code, copy_nt, copy, 1, 8, 8, 1024)
#define BANDWIDTH_NON_TEMPORAL_TRIAD(X, code) \
	X(code, triad_nt, triad, 1, 4, 1, 0)  \
	X(code, triad_nt, triad, 1, 16, 1, 0) \
	X(code, triad_nt, triad, 1, 8, 4, 0)  \
	X(code, triad_nt, triad, 2, 4, 4, 0)  \
	X(code, triad_nt, triad, 1, 8, 4, 1024)
/* For what has no wider vectors or no fused multiply-add. */
#define BANDWIDTH_PLAIN(X, code, op, body) \
	X(code, op, body, 1, 8, 8, 0)      \
	X(code, op, body, 2, 8, 8, 0)

/* All operations with the vectors of `code`; `madd` is the code of those that multiply and add. */
#define BANDWIDTH_ALL(X, code, madd)          \
	BANDWIDTH_READ(X, code)               \
	BANDWIDTH_WRITE(X, code)              \
	BANDWIDTH_COPY(X, code)               \
	BANDWIDTH_TRIAD(X, madd)              \
	BANDWIDTH_DAXPY(X, madd)              \
	BANDWIDTH_UPDATE(X, code)             \
	BANDWIDTH_NON_TEMPORAL_WRITE(X, code) \
	BANDWIDTH_NON_TEMPORAL_COPY(X, code)  \
	BANDWIDTH_NON_TEMPORAL_TRIAD(X, madd)
#define BANDWIDTH_PLAIN_MADD(X, code)          \
	BANDWIDTH_PLAIN(X, code, triad, triad) \
	BANDWIDTH_PLAIN(X, code, daxpy, daxpy) \
	BANDWIDTH_PLAIN(X, code, triad_nt, triad)

#define BANDWIDTH_KERNELS(X)                      \
	BANDWIDTH_ALL(X, avx512f, avx512f)        \
	BANDWIDTH_ALL(X, avx2, fma3)              \
	BANDWIDTH_PLAIN_MADD(X, avx2)             \
	BANDWIDTH_PLAIN(X, sse2, read, read)      \
	BANDWIDTH_PLAIN(X, sse2, write, write)    \
	BANDWIDTH_PLAIN(X, sse2, copy, copy)      \
	BANDWIDTH_PLAIN(X, sse2, update, update)  \
	BANDWIDTH_PLAIN(X, sse2, write_nt, write) \
	BANDWIDTH_PLAIN(X, sse2, copy_nt, copy)   \
	BANDWIDTH_PLAIN_MADD(X, sse2)

/* X(op, string instruction, log2 of the bytes that it moves); `isa` is "rep". */
#define BANDWIDTH_STRING_KERNELS(X) \
	X(write_rep, stosq, 3)      \
	X(copy_rep, movsb, 0)

/* The most rows of one operation. */
#define BANDWIDTH_MAX_VARIANTS 16

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

/* Constant 2^-30, factor 1 + 2^-52, sum 0.  With arrays of about 1, or of what these kernels left
 * there, all values stay positive, finite and normal: nothing is subtracted or made smaller, a
 * pass of daxpy adds 2^-30 (nothing once a is 2^24 b), and a pass of update multiplies by at most
 * 1 + 2^-51, so that 2^60 passes would be needed to leave the range. */
void bandwidth_state_init(struct bandwidth_state *state);
#endif
