/* STREAM, written anew from its definition (J. McCalpin): four kernels over arrays of n doubles,
 *	copy	c ← a		16 bytes an element
 *	scale	b ← s·c		16
 *	add	c ← a + b	24
 *	triad	a ← b + s·c	24
 * in loops that the compiler makes into whatever it likes, repeated; the first repetition is not
 * timed.  Bytes are those that the loop names: no write-allocate.
 *
 * usage: stream [N [REPETITIONS [THREADS]]]; N elements in each array, of all threads together.
 * Each thread works on a part of its own that it has touched first, on a hardware thread of its own
 * where there are enough.
 *
 * A cache's worth of data takes too little time for a clock: each repetition then runs the kernel
 * many times over (all of it about a millisecond), and takes the average.
 *
 * One line per kernel goes to standard output:
 *	stream kernel=NAME n=N threads=N bytes=N best=GB/s average=GB/s
 * with 1e9 bytes a second, bytes of one run over the arrays.  The exit status is 1 when a result is
 * wrong. */
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { COPY, SCALE, ADD, TRIAD, KERNELS };

static const struct { const char *name; int arrays; } kernels[KERNELS] = {
	{ "copy", 2 }, { "scale", 2 }, { "add", 3 }, { "triad", 3 },
};

static const double scalar = 3;

/* Arrays start this far apart modulo 4 KiB, which keeps a load from waiting for an earlier store to
 * another array. */
enum { SKEW = 1344 };

struct part {
	pthread_t thread;
	int cpu;		/* -1: wherever */
	size_t n;
	long inner;		/* runs of a kernel in one repetition */
	void *memory;
	double *a, *b, *c;
	int wrong;
};

static struct { long n, repetitions; int threads; } given = { 10000000, 10, 1 };
static pthread_barrier_t barrier;
static struct timespec started;
static struct { double best, total; } seconds[KERNELS];

__attribute__((noinline)) static void stream_copy(size_t n, double *restrict c, const double *restrict a)
{
	for (size_t i = 0; i < n; i++)
		c[i] = a[i];
}

__attribute__((noinline)) static void stream_scale(size_t n, double *restrict b, const double *restrict c)
{
	for (size_t i = 0; i < n; i++)
		b[i] = scalar * c[i];
}

__attribute__((noinline)) static void stream_add(size_t n, double *restrict c, const double *restrict a,
						 const double *restrict b)
{
	for (size_t i = 0; i < n; i++)
		c[i] = a[i] + b[i];
}

__attribute__((noinline)) static void stream_triad(size_t n, double *restrict a, const double *restrict b,
						   const double *restrict c)
{
	for (size_t i = 0; i < n; i++)
		a[i] = b[i] + scalar * c[i];
}

static void run_kernel(int kernel, struct part *part)
{
	for (long i = 0; i < part->inner; i++) {
		if (kernel == COPY)
			stream_copy(part->n, part->c, part->a);
		else if (kernel == SCALE)
			stream_scale(part->n, part->b, part->c);
		else if (kernel == ADD)
			stream_add(part->n, part->c, part->a, part->b);
		else
			stream_triad(part->n, part->a, part->b, part->c);
	}
}

/* Waits for all threads; one of them, which is told so, is to keep the time. */
static int all_here(void)
{
	return pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD;
}

static void keep_time(int kernel, long repetition, long inner)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	double took = (now.tv_sec - started.tv_sec + 1e-9 * (now.tv_nsec - started.tv_nsec)) / inner;
	if (!repetition)
		return;
	seconds[kernel].total += took;
	if (repetition == 1 || took < seconds[kernel].best)
		seconds[kernel].best = took;
}

/* The same operations on one number: all elements of an array are equal.  A kernel gives the same
 * however often it runs over the arrays, as none reads what it writes. */
static int is_wrong(const struct part *part)
{
	double a = 1, b = 2, c = 0;

	for (long repetition = 0; repetition <= given.repetitions; repetition++) {
		c = a;
		b = scalar * c;
		c = a + b;
		a = b + scalar * c;
	}
	for (size_t i = 0; i < part->n; i++)
		if (fabs(part->a[i] / a - 1) > 1e-13 || fabs(part->b[i] / b - 1) > 1e-13 ||
		    fabs(part->c[i] / c - 1) > 1e-13)
			return 1;
	return 0;
}

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
}

static void allocate(struct part *part)
{
	size_t bytes = (part->n * sizeof(double) + 63) / 64 * 64 + SKEW;

	if (posix_memalign(&part->memory, 2 << 20, 3 * bytes)) {
		fprintf(stderr, "stream: out of memory\n");
		exit(2);
	}
	part->a = part->memory;
	part->b = (double *)((char *)part->memory + bytes);
	part->c = (double *)((char *)part->memory + 2 * bytes);
	for (size_t i = 0; i < part->n; i++) {
		part->a[i] = 1;
		part->b[i] = 2;
		part->c[i] = 0;
	}
}

static void *work(void *argument)
{
	struct part *part = argument;

	if (part->cpu >= 0)
		pin(part->cpu);
	allocate(part);
	for (long repetition = 0; repetition <= given.repetitions; repetition++)
		for (int kernel = 0; kernel < KERNELS; kernel++) {
			if (all_here())
				clock_gettime(CLOCK_MONOTONIC, &started);
			all_here();
			run_kernel(kernel, part);
			if (all_here())
				keep_time(kernel, repetition, part->inner);
		}
	part->wrong = is_wrong(part);
	free(part->memory);
	return NULL;
}

/* The usable CPU of that rank, or -1 when there are fewer. */
static int cpu_of(int rank)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set))
		return -1;
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &set) && !rank--)
			return cpu;
	return -1;
}

static int run(struct part *parts)
{
	int wrong = 0;

	for (int i = 0; i < given.threads; i++) {
		/* Two million elements take about a millisecond from a cache. */
		long per_thread = given.n / given.threads;
		parts[i] = (struct part){ .cpu = cpu_of(i), .n = per_thread,
					  .inner = per_thread < 2000000 ? 2000000 / per_thread : 1 };
		if (cpu_of(given.threads - 1) < 0)
			parts[i].cpu = -1;
		if (pthread_create(&parts[i].thread, NULL, work, &parts[i])) {
			fprintf(stderr, "stream: cannot start a thread\n");
			exit(2);
		}
	}
	for (int i = 0; i < given.threads; i++) {
		pthread_join(parts[i].thread, NULL);
		wrong |= parts[i].wrong;
	}
	return wrong;
}

int main(int argc, char **argv)
{
	given.n = argc > 1 ? atol(argv[1]) : given.n;
	given.repetitions = argc > 2 ? atol(argv[2]) : given.repetitions;
	given.threads = argc > 3 ? atoi(argv[3]) : given.threads;
	if (given.threads < 1 || given.repetitions < 1 || given.n < given.threads) {
		fprintf(stderr, "usage: stream [N [REPETITIONS [THREADS]]]\n");
		return 2;
	}
	struct part *parts = calloc(given.threads, sizeof(*parts));
	if (!parts || pthread_barrier_init(&barrier, NULL, given.threads))
		return 2;
	int wrong = run(parts);
	free(parts);
	given.n = given.n / given.threads * given.threads;
	for (int kernel = 0; kernel < KERNELS; kernel++) {
		double bytes = 8.0 * kernels[kernel].arrays * given.n;
		printf("stream kernel=%s n=%ld threads=%d bytes=%.0f best=%.3f average=%.3f\n", kernels[kernel].name,
		       given.n, given.threads, bytes, bytes / seconds[kernel].best / 1e9,
		       bytes * given.repetitions / seconds[kernel].total / 1e9);
	}
	if (wrong)
		fprintf(stderr, "stream: a result is wrong\n");
	return wrong;
}
