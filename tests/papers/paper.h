/* What the kernels of the papers on the roofline model share.
 *
 * PROGRAM KERNEL N [CALLS [PASSES [COPIES [THREADS]]]] calls the kernel CALLS times, each for
 * PASSES passes over data of size N, and prints what one pass does: "truth kernel=NAME flop=W
 * load_bytes=L store_bytes=S".  COPIES sets of data are there, which calls take in turns, so that
 * they are not in the caches from one call to the next ([O] III.A). CALLS -K: as many as are K
 * million flop and doubles moved; COPIES -M: as many as are M MiB.  In a call THREADS threads do
 * the same at the same time, each with a copy of its own ([T] chapter 4). All calls are made by the
 * function `kernel`, which profiles ask for.
 *
 * A source that defines AT_LEAST calls libraries, which may do more: "expected" stands in the place
 * of "truth".  Built with -DEXACT=N, for that N alone, each access to an array is made as it stands
 * in the source, and sizes and addresses are constants, so that registers suffice for the rest:
 * what is said of L and S holds, the bytes of two passes are more than those of one by exactly
 * that.  Built without, the compiler may do better; the flop are the same, unless -ffast-math is
 * given. */
#pragma once

#include <inttypes.h>
#include <pthread.h>
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
#define MOST_THREADS 64
static double *arrays[MOST_ARRAYS];
static size_t array_sizes[MOST_ARRAYS]; /* doubles in a copy */
static long copies = 1, threads = 1;
static __thread long copy; /* whose data this thread works on */

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

struct share {
	void (*run)(long passes);
	long passes, copy;
	pthread_barrier_t *begin;
};

static inline void *run_share(void *given)
{
	const struct share *share = given;
	copy = share->copy;
	pthread_barrier_wait(share->begin);
	share->run(share->passes);
	return NULL;
}

static inline void run_on_threads(void (*run)(long passes), long passes)
{
	pthread_t others[MOST_THREADS];
	struct share shares[MOST_THREADS];
	pthread_barrier_t begin;
	pthread_barrier_init(&begin, NULL, (unsigned)threads);
	for (long k = 0; k < threads; k++)
		shares[k] = (struct share){run, passes, (copy + k) % copies, &begin};
	for (long k = 1; k < threads; k++)
		if (pthread_create(&others[k], NULL, run_share, &shares[k])) {
			fprintf(stderr, "no thread\n");
			exit(1);
		}
	run_share(&shares[0]);
	for (long k = 1; k < threads; k++)
		pthread_join(others[k], NULL);
	pthread_barrier_destroy(&begin);
}

/* The one function that profiles ask for. */
__attribute__((noinline, noclone)) void kernel(void (*run)(long passes), long passes)
{
	if (threads > 1)
		run_on_threads(run, passes);
	else
		run(passes);
	BETWEEN;
}

static int usage(const struct kernel *kernels)
{
	fprintf(stderr, "KERNEL N [CALLS [PASSES [COPIES [THREADS]]]]; kernels:");
	for (; kernels->name; kernels++)
		fprintf(stderr, " %s", kernels->name);
	fputc('\n', stderr);
	return 2;
}

/* The size of one set is known when it is there. */
static void prepare_copies(const struct kernel *chosen, long wanted)
{
	size_t bytes = 0;
	copies = wanted > threads ? wanted : threads;
	chosen->prepare();
	for (int k = 0; k < MOST_ARRAYS; k++)
		bytes += array_sizes[k] * sizeof(double);
	if (wanted >= 0)
		return;
	copies = (long)(((size_t)-wanted << 20) / bytes) + 1;
	if (copies > threads)
		chosen->prepare(); /* the first sets are small, and stay */
	else
		copies = threads;
}

static long calls_of(const struct kernel *chosen, long wanted)
{
	if (wanted >= 0 || !chosen->truth)
		return wanted;
	const struct counts t = chosen->truth((uint64_t)size_n);
	const double cost = (double)t.flop + (double)(t.load_bytes + t.store_bytes) / 8;
	/* a traced run empties its caches at each call, or asks for each */
	const double calls = -(double)wanted * 1e6 / cost, most = copies > 1 ? 8000 : 20000;
	return (long)(calls < most ? calls : most) + 1;
}

static inline int paper_main(int argc, char **argv, const struct kernel *kernels)
{
	const struct kernel *chosen = kernels;
	while (argc > 2 && chosen->name && strcmp(chosen->name, argv[1]) != 0)
		chosen++;
	if (argc < 3 || !chosen->name || atol(argv[2]) <= 0)
		return usage(kernels);
	const long wanted = argc > 3 ? atol(argv[3]) : 1, passes = argc > 4 ? atol(argv[4]) : 1;
#ifdef EXACT
	if (atol(argv[2]) != size_n)
		return usage(kernels);
#else
	size_n = atol(argv[2]);
#endif
	threads = argc > 6 ? atol(argv[6]) : 1;
	if (threads < 1 || threads > MOST_THREADS)
		return usage(kernels);
	prepare_copies(chosen, argc > 5 ? atol(argv[5]) : 1);
	const long calls = calls_of(chosen, wanted);
	for (long call = 0; call < calls; call++) {
		copy = call % copies;
		kernel(chosen->run, passes);
	}
	copy = 0;
	double sum = 0;
	for (int k = 0; k < MOST_ARRAYS; k++)
		sum += arrays[k] ? arrays[k][0] + arrays[k][array_sizes[k] / 2] : 0;
	printf("sum %.12g\n", sum);
	const char *what = "truth";
#ifdef AT_LEAST
	what = "expected";
#endif
	if (chosen->truth) {
		const struct counts t = chosen->truth((uint64_t)size_n);
		printf("%s kernel='%s' flop=%" PRIu64 " load_bytes=%" PRIu64 " store_bytes=%" PRIu64
		       "\n",
		       what, chosen->name, t.flop, t.load_bytes, t.store_bytes);
	}
	return 0;
}
