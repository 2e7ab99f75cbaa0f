/* What the kernels of the papers on the roofline model share.
 *
 *	PROGRAM KERNEL N [CALLS [PASSES [COPIES]]]
 *
 * calls the kernel CALLS times, each for PASSES passes over data of size N, and prints what one
 *pass does: "truth kernel=NAME flop=W load_bytes=L store_bytes=S".  COPIES sets of data are there,
 *which calls take in turns, so that they are not in the caches from one call to the next ([O]
 *III.A). All calls are made by the function `kernel`, which profiles ask for.
 *
 * Built with -DEXACT=N, for that N alone, each access to an array is made as it stands in the
 *source, and sizes and addresses are constants, so that registers suffice for the rest: what is
 *said of L and S holds, the bytes of two passes are more than those of one by exactly that.  Built
 *without, the compiler may do better; the flop are the same, unless -ffast-math is given. */
#pragma once

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef EXACT
typedef volatile double real;
#define size_n ((long)EXACT)
#else
typedef double real;
static long size_n;
#endif

#define MOST_ARRAYS 8
static double *arrays[MOST_ARRAYS];
static size_t array_sizes[MOST_ARRAYS]; /* doubles in a copy */
static long copies = 1, copy;

struct counts {
	uint64_t flop, load_bytes, store_bytes;
};

struct kernel {
	const char *name;
	void (*prepare)(void); /* makes the arrays for size_n */
	void (*run)(long passes);
	struct counts (*truth)(uint64_t n);
};

/* A kernel's function; its body is one pass, `BETWEEN` keeps passes apart. */
#define KERNEL(name) __attribute__((noinline, noclone)) static void name(long passes)
#define BETWEEN __asm__ volatile("" ::: "memory")
#define PASSES for (long pass = 0; pass < passes; pass++, ({ BETWEEN; }))

#ifdef EXACT
/* At constant addresses, which need no register. */
#define MOST_DOUBLES ((size_t)1 << 20)
static double storage[MOST_ARRAYS][MOST_DOUBLES] __attribute__((aligned(64)));
#define array(k) ((real *)storage[k])
#else
static inline real *array(int k)
{
	return (real *)(arrays[k] + (size_t)copy * array_sizes[k]);
}
#endif

static inline double *memory_for(__attribute__((unused)) int k, size_t n)
{
#ifdef EXACT
	return n <= MOST_DOUBLES ? storage[k] : NULL;
#else
	return aligned_alloc(64, n * sizeof(double));
#endif
}

/* All copies of array k, with values that are not all the same, from `low` to `high`. */
static inline void make(int k, size_t n, double low, double high)
{
	const size_t line = 64 / sizeof(double);
	array_sizes[k] = (n + line - 1) / line * line;
	const size_t all = array_sizes[k] * (size_t)copies;
	arrays[k] = memory_for(k, all);
	if (!arrays[k]) {
		fprintf(stderr, "out of memory\n");
		exit(1);
	}
	for (size_t i = 0; i < all; i++)
		arrays[k][i] = low + (high - low) * (double)(i % 17) / 16;
}

/* The one function that profiles ask for. */
__attribute__((noinline, noclone)) void kernel(void (*run)(long passes), long passes)
{
	run(passes);
	BETWEEN;
}

static int usage(const struct kernel *kernels)
{
	fprintf(stderr, "KERNEL N [CALLS [PASSES [COPIES]]]; kernels:");
	for (; kernels->name; kernels++)
		fprintf(stderr, " %s", kernels->name);
	fputc('\n', stderr);
	return 2;
}

static inline int paper_main(int argc, char **argv, const struct kernel *kernels)
{
	const struct kernel *chosen = kernels;
	while (argc > 2 && chosen->name && strcmp(chosen->name, argv[1]) != 0)
		chosen++;
	if (argc < 3 || !chosen->name || atol(argv[2]) <= 0)
		return usage(kernels);
	const long calls = argc > 3 ? atol(argv[3]) : 1, passes = argc > 4 ? atol(argv[4]) : 1;
#ifdef EXACT
	if (atol(argv[2]) != size_n)
		return usage(kernels);
#else
	size_n = atol(argv[2]);
#endif
	copies = argc > 5 ? atol(argv[5]) : 1;
	chosen->prepare();
	for (long call = 0; call < calls; call++) {
		copy = call % copies;
		kernel(chosen->run, passes);
	}
	copy = 0;
	double sum = 0;
	for (int k = 0; k < MOST_ARRAYS; k++)
		sum += arrays[k] ? arrays[k][0] + arrays[k][array_sizes[k] / 2] : 0;
	printf("sum %.12g\n", sum);
	if (chosen->truth) {
		const struct counts t = chosen->truth((uint64_t)size_n);
		printf("truth kernel='%s' flop=%" PRIu64 " load_bytes=%" PRIu64
		       " store_bytes=%" PRIu64 "\n",
		       chosen->name, t.flop, t.load_bytes, t.store_bytes);
	}
	return 0;
}
