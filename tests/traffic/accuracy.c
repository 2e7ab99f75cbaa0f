/* Kernels whose traffic the sample of classes must tell: run one by its name, with its argument.  Each is a
 * function of its own that moves most of what the program moves. */
#include <immintrin.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 1 << 18, REPEATS = 4, LINE = 64 };

static double *a, *b, *c;
static uint32_t *order;
static volatile double sink;

#include "stream_kernels.h"

static double *array(size_t n)
{
	double *made = aligned_alloc(LINE, (8 * n + LINE - 1) / LINE * LINE);
	for (size_t i = 0; i < n; i++)
		made[i] = 1 + (double)(i % 3);
	return made;
}

static uint64_t next_random(void)
{
	static uint64_t state = 1;
	state = state * 6364136223846793005u + 1442695040888963407u; /* Knuth's MMIX */
	return state >> 33;
}

/* ---- streams ---- */

KERNEL copy_non_temporal(void)
{
	for (long i = 0; i < N; i += 2)
		_mm_stream_pd(a + i, _mm_load_pd(b + i));
}

static void stream(void (*kernel)(void))
{
	a = array(N);
	b = array(N);
	c = array(N);
	for (int i = 0; i < REPEATS; i++)
		kernel();
}

/* ---- dense ---- */

KERNEL dgemv(long n)
{
	for (long i = 0; i < n; i++) {
		double s = 0;
		for (long j = 0; j < n; j++)
			s += a[i * n + j] * b[j];
		c[i] += s;
	}
}

KERNEL dgemm_naive(long n)
{
	for (long i = 0; i < n; i++)
		for (long j = 0; j < n; j++) {
			double s = 0;
			for (long k = 0; k < n; k++)
				s += a[i * n + k] * b[k * n + j];
			c[i * n + j] += s;
		}
}

/* B's walk is row-wise: 8 bytes of it for two flop. */
KERNEL dgemm_rows(long n)
{
	for (long i = 0; i < n; i++)
		for (long k = 0; k < n; k++) {
			const double x = a[i * n + k];
			for (long j = 0; j < n; j++)
				c[i * n + j] += x * b[k * n + j];
		}
}

/* B is given transposed. */
KERNEL dgemm_transposed(long n)
{
	for (long i = 0; i < n; i++)
		for (long j = 0; j < n; j++) {
			double s = 0;
			for (long k = 0; k < n; k++)
				s += a[i * n + k] * b[j * n + k];
			c[i * n + j] += s;
		}
}

static long block = 32;

static inline __attribute__((always_inline)) void multiply(long n, double *to, const double *x, const double *y)
{
	for (long i = 0; i < block; i++)
		for (long k = 0; k < block; k++)
			for (long j = 0; j < block; j++)
				to[i * n + j] += x[i * n + k] * y[k * n + j];
}

/* Blocks of N_B = `block` rows and columns; n is a multiple of it. */
KERNEL dgemm_blocked(long n)
{
	for (long i = 0; i < n; i += block)
		for (long j = 0; j < n; j += block)
			for (long k = 0; k < n; k += block)
				multiply(n, c + i * n + j, a + i * n + k, b + k * n + j);
}

static void dense(void (*kernel)(long), long n)
{
	a = array((size_t)(n * n));
	b = array((size_t)(n * n));
	c = array((size_t)(n * n));
	kernel(n);
}

/* ---- others ---- */

KERNEL stencil(double *to, const double *from, long n)
{
	for (long i = 1; i < n - 1; i++)
		for (long j = 1; j < n - 1; j++)
			to[i * n + j] = 0.2 * (from[i * n + j] + from[(i - 1) * n + j] + from[(i + 1) * n + j] +
					       from[i * n + j - 1] + from[i * n + j + 1]);
}

static void stencils(long n)
{
	a = array((size_t)(n * n));
	b = array((size_t)(n * n));
	for (int i = 0; i < REPEATS; i++) {
		stencil(b, a, n);
		stencil(a, b, n);
	}
}

/* Rows of sixteen elements at columns without an order. */
KERNEL spmv(long rows)
{
	for (long i = 0; i < rows; i++) {
		double s = 0;
		for (long k = 16 * i; k < 16 * i + 16; k++)
			s += a[k] * b[order[k]];
		c[i] = s;
	}
}

static void sparse(long rows)
{
	a = array((size_t)(16 * rows));
	b = array((size_t)rows);
	c = array((size_t)rows);
	order = aligned_alloc(LINE, (size_t)(64 * rows));
	for (long k = 0; k < 16 * rows; k++)
		order[k] = (uint32_t)(next_random() % (uint64_t)rows);
	for (int i = 0; i < REPEATS; i++)
		spmv(rows);
}

KERNEL random_updates(long n)
{
	uint64_t *table = (uint64_t *)a;
	for (long i = 0; i < n; i++)
		table[next_random() % N] ^= (uint64_t)i;
}

static void updates(long n)
{
	a = array(N);
	random_updates(n);
}

struct node { struct node *next; char rest[LINE - sizeof(struct node *)]; };

KERNEL chase(struct node *at, long n)
{
	while (n--)
		at = at->next;
	sink = (double)(uintptr_t)at;
}

/* One cycle through all nodes (Sattolo). */
static void chases(long n)
{
	struct node *nodes = aligned_alloc(LINE, sizeof(*nodes) * (size_t)n);
	order = malloc(4 * (size_t)n);
	for (long i = 0; i < n; i++)
		order[i] = (uint32_t)i;
	for (long i = n - 1; i > 0; i--) {
		const uint64_t k = next_random() % (uint64_t)i;
		const uint32_t other = order[k];
		order[k] = order[i];
		order[i] = other;
	}
	for (long i = 0; i < n; i++)
		nodes[i].next = nodes + order[i];
	chase(nodes, REPEATS * n);
}

/* [G] algorithm 3: the same number of operations at every offset. */
KERNEL conflict(long n, long offset, long operations)
{
	for (long k = 0; k < operations * offset / n; k++)
		for (long i = 0; i < n; i += offset)
			a[i] = 0.5 * a[i];
}

static void conflicts(long offset)
{
	const long n = 1 << 16; /* 512 KiB */
	a = array((size_t)n);
	conflict(n, offset, 1 << 18);
}

/* ---- two threads ---- */

struct part { double *to; const double *from; long begin, end, turn; };

KERNEL scale(double *to, const double *from, long begin, long end)
{
	for (long i = begin; i < end; i++)
		to[i] = 3 * from[i];
}

static void *work(void *argument)
{
	const struct part *part = argument;
	for (int i = 0; i < REPEATS; i++)
		scale(part->to, part->from, part->begin, part->end);
	return NULL;
}

static void two_threads(const struct part parts[2])
{
	pthread_t threads[2];
	for (int t = 0; t < 2; t++)
		pthread_create(&threads[t], NULL, work, (void *)&parts[t]);
	for (int t = 0; t < 2; t++)
		pthread_join(threads[t], NULL);
}

/* Both read the whole of one array, and write an array of their own. */
static void shared(long n)
{
	a = array((size_t)n);
	two_threads((const struct part[]){{array((size_t)n), a, 0, n}, {array((size_t)n), a, 0, n}});
}

static void disjoint(long n)
{
	a = array((size_t)(2 * n));
	b = array((size_t)(2 * n));
	two_threads((const struct part[]){{a, b, 0, n}, {a, b, n, 2 * n}});
}

/* ---- threads in step ---- */

static pthread_barrier_t barrier;

static long side;

KERNEL stencil_rows(double *to, const double *from, long begin, long end)
{
	const long n = side;
	for (long i = begin; i < end; i++)
		for (long j = 1; j < n - 1; j++)
			to[i * n + j] = 0.2 * (from[i * n + j] + from[(i - 1) * n + j] + from[(i + 1) * n + j] +
					       from[i * n + j - 1] + from[i * n + j + 1]);
}

static void *sweep_rows(void *argument)
{
	const struct part *part = argument;
	for (int i = 0; i < 2 * REPEATS; i++) {
		stencil_rows(i % 2 ? a : b, i % 2 ? b : a, part->begin, part->end);
		pthread_barrier_wait(&barrier);
	}
	return NULL;
}

/* One thread after the other, always in the same order: two passes of one thread that follow each other, as
 * on a busy machine, would find its arrays in the cache. */
static void *pass(void *argument)
{
	const struct part *part = argument;
	for (long i = 0; i < 2 * REPEATS * block; i++) {
		if (i % block == part->turn)
			scale(part->to, part->from, part->begin, part->end);
		pthread_barrier_wait(&barrier);
	}
	return NULL;
}

KERNEL read_range(const double *from, long begin, long end)
{
	double s = 0;
	for (long i = begin; i < end; i++)
		s += from[i];
	sink = s;
}

static void *read_pass(void *argument)
{
	const struct part *part = argument;
	for (int i = 0; i < 2 * REPEATS; i++) {
		read_range(part->from, part->begin, part->end);
		pthread_barrier_wait(&barrier);
	}
	return NULL;
}

/* `block` threads. */
static void in_step(void *(*run)(void *), struct part *parts)
{
	pthread_t threads[8];
	pthread_barrier_init(&barrier, NULL, (unsigned)block);
	for (long t = 0; t < block; t++)
		pthread_create(&threads[t], NULL, run, &parts[t]);
	for (long t = 0; t < block; t++)
		pthread_join(threads[t], NULL);
}

static void stencil_threads(long n)
{
	struct part parts[8];
	a = array((size_t)(n * n));
	b = array((size_t)(n * n));
	side = n;
	for (long t = 0; t < block; t++)
		parts[t] = (struct part){.begin = 1 + (n - 2) * t / block, .end = 1 + (n - 2) * (t + 1) / block};
	in_step(sweep_rows, parts);
}

static void own_arrays(long n)
{
	struct part parts[8];
	for (long t = 0; t < block; t++)
		parts[t] = (struct part){array((size_t)n), array((size_t)n), 0, n, t};
	in_step(pass, parts);
}

static void read_by_all(long n)
{
	struct part parts[8];
	a = array((size_t)n);
	for (long t = 0; t < block; t++)
		parts[t] = (struct part){NULL, a, 0, n};
	in_step(read_pass, parts);
}

/* ---- */

struct target { const char *name; void (*run)(void); void (*dense)(long); void (*other)(long); };

static const struct target targets[] = {
	{"sum", sum, NULL, NULL}, {"copy", copy, NULL, NULL}, {"triad", triad, NULL, NULL},
	{"daxpy", daxpy, NULL, NULL}, {"copy_non_temporal", copy_non_temporal, NULL, NULL},
	{"dgemv", NULL, dgemv, NULL}, {"dgemm_naive", NULL, dgemm_naive, NULL}, {"dgemm_rows", NULL, dgemm_rows, NULL},
	{"dgemm_transposed", NULL, dgemm_transposed, NULL}, {"dgemm_blocked", NULL, dgemm_blocked, NULL},
	{"stencil", NULL, NULL, stencils}, {"spmv", NULL, NULL, sparse}, {"random_updates", NULL, NULL, updates},
	{"chase", NULL, NULL, chases}, {"conflict", NULL, NULL, conflicts}, {"shared", NULL, NULL, shared},
	{"disjoint", NULL, NULL, disjoint}, {"stencil_threads", NULL, NULL, stencil_threads},
	{"own_arrays", NULL, NULL, own_arrays}, {"read_by_all", NULL, NULL, read_by_all},
};

/* accuracy TARGET [SIZE [BLOCK]] */
int main(int argc, char **argv)
{
	const long size = argc > 2 ? atol(argv[2]) : 0;
	if (argc > 3)
		block = atol(argv[3]);
	for (size_t i = 0; argc > 1 && i < sizeof(targets) / sizeof(targets[0]); i++) {
		const struct target *target = &targets[i];
		if (strcmp(target->name, argv[1]) != 0)
			continue;
		if (target->run)
			stream(target->run);
		else if (target->dense)
			dense(target->dense, size);
		else
			target->other(size);
		return 0;
	}
	return 2;
}
