/* A program with functions of clearly different character, to show what a roofline table says:
 * memory-bound, cache-resident, compute-bound, latency-bound, divider-bound and integer work, one
 * part by two threads.  About two seconds; the output depends on nothing but the code. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Kept as a function of its own under its own name. */
#ifdef __clang__
#define PART __attribute__((noinline)) static
#else
#define PART __attribute__((noinline, noclone)) static
#endif

enum {
	STREAM_N = 4 << 20,	/* doubles: three arrays of 32 MiB, beyond most caches */
	STREAM_SWEEPS = 80,
	STENCIL_N = 96,		/* 72 KiB a grid: stays in the second-level cache */
	STENCIL_SWEEPS = 80000,
	POLY_N = 1024,
	POLY_SWEEPS = 350000,
	CHAIN_N = 4 << 20,	/* links of 8 bytes: 32 MiB */
	CHAIN_STEPS = 2200000,
	RECIPROCAL_N = 1024,
	RECIPROCAL_SWEEPS = 160000,
	HASH_BYTES = 1 << 16,
	HASH_SWEEPS = 4000,
	THREADS = 2,
	HEAT_N = 2048,
	HEAT_SWEEPS = 200000,
};

static double *array(size_t n, double value)
{
	double *x = aligned_alloc(64, n * sizeof(double));

	if (!x) {
		fprintf(stderr, "demo: out of memory\n");
		exit(1);
	}
	for (size_t i = 0; i < n; i++)
		x[i] = value + (double)(i % 16) / 16;
	return x;
}

/* Memory bound: two loads, one store and two flop per element, nothing is used twice. */
PART void stream_triad(double *a, const double *b, const double *c, double s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		a[i] = b[i] + s * c[i];
}

/* Cache-resident: every element is used five times before it leaves. */
PART void stencil_5_points(double *restrict to, const double *restrict from, int n)
{
	for (int i = 1; i < n - 1; i++)
		for (int j = 1; j < n - 1; j++) {
			const double *p = &from[i * n + j];

			to[i * n + j] = 0.5 * p[0] + 0.125 * (p[-1] + p[1] + p[-n] + p[n]);
		}
}

/* Compute bound: a polynomial of degree 15 by Horner's rule, 30 flop per 16 bytes; eight chains at
 * once hide the latency.  The body is compiled twice, for FMA and for any x86-64. */
typedef double vector __attribute__((vector_size(32)));

#define POLYNOMIAL_BODY                                                                            \
	for (int i = 0; i < n; i += 8) {                                                           \
		vector value[8];                                                                   \
		_Pragma("GCC unroll 8") for (int j = 0; j < 8; j++)                                \
			value[j] = x[i + j] * (1.0 / 15) + coefficients[14];                       \
		for (int degree = 13; degree >= 0; degree--)                                       \
			_Pragma("GCC unroll 8") for (int j = 0; j < 8; j++)                        \
				value[j] = value[j] * x[i + j] + coefficients[degree];             \
		_Pragma("GCC unroll 8") for (int j = 0; j < 8; j++)                                \
			y[i + j] = value[j];                                                       \
	}

static const double coefficients[15] = { 1, .5, .25, .125, .1, .09, .08, .07, .06, .05, .04, .03, .02, .01, .005 };

__attribute__((target("avx2,fma"))) PART void polynomial_fma(vector *restrict y, const vector *restrict x, int n)
{
	POLYNOMIAL_BODY
}

PART void polynomial_sse2(vector *restrict y, const vector *restrict x, int n)
{
	POLYNOMIAL_BODY
}

/* Latency bound: each load's address is the load before it. */
PART uint64_t chase_pointers(const uint64_t *next, int steps)
{
	uint64_t at = 0;

	for (int i = 0; i < steps; i++)
		at = next[at];
	return at;
}

/* Divider bound: one division and one square root per element. */
PART void reciprocal_roots(double *restrict y, const double *restrict x, int n)
{
	for (int i = 0; i < n; i++)
		y[i] = 1 / __builtin_sqrt(x[i]);
}

/* Integers only: FNV-1a, one multiplication in the dependency chain per byte. */
PART uint64_t hash_bytes(const uint8_t *bytes, int n, uint64_t hash)
{
	for (int i = 0; i < n; i++)
		hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
	return hash;
}

/* Two threads: a one-dimensional heat equation, each thread its own rod. */
PART void heat_step(double *restrict to, const double *restrict from, int n)
{
	for (int i = 1; i < n - 1; i++)
		to[i] = from[i] + 0.25 * (from[i - 1] - 2 * from[i] + from[i + 1]);
}

static void *heat_thread(void *argument)
{
	double *rod = array(HEAT_N, *(double *)argument), *next = array(HEAT_N, *(double *)argument);

	for (int sweep = 0; sweep < HEAT_SWEEPS; sweep += 2) {
		heat_step(next, rod, HEAT_N);
		heat_step(rod, next, HEAT_N);
	}
	*(double *)argument = rod[HEAT_N / 2];
	free(rod);
	free(next);
	return NULL;
}

static void run_stream(void)
{
	double *a = array(STREAM_N, 0), *b = array(STREAM_N, 1), *c = array(STREAM_N, 2);

	for (int sweep = 0; sweep < STREAM_SWEEPS; sweep++)
		stream_triad(a, b, c, sweep, STREAM_N);
	printf("stream triad       %.6f\n", a[STREAM_N / 3]);
	free(a);
	free(b);
	free(c);
}

static void run_stencil(void)
{
	double *from = array(STENCIL_N * STENCIL_N, 1), *to = array(STENCIL_N * STENCIL_N, 1);

	for (int sweep = 0; sweep < STENCIL_SWEEPS; sweep += 2) {
		stencil_5_points(to, from, STENCIL_N);
		stencil_5_points(from, to, STENCIL_N);
	}
	printf("stencil            %.6f\n", from[STENCIL_N * STENCIL_N / 2 + STENCIL_N / 2]);
	free(from);
	free(to);
}

static void run_polynomial(void)
{
	double *x = array(POLY_N, 0), *y = array(POLY_N, 0);
	int fma = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");

	for (int sweep = 0; sweep < POLY_SWEEPS; sweep++)
		(fma ? polynomial_fma : polynomial_sse2)((vector *)y, (const vector *)x, POLY_N / 4);
	printf("polynomial         %.6f\n", y[POLY_N / 2 + 3]);
	free(x);
	free(y);
}

/* One cycle through all links in scattered order (Sattolo's shuffle). */
static void run_chain(void)
{
	uint64_t *next = malloc(CHAIN_N * sizeof(uint64_t)), random = 1;

	if (!next)
		exit(1);
	for (uint64_t i = 0; i < CHAIN_N; i++)
		next[i] = i;
	for (uint64_t i = CHAIN_N - 1; i > 0; i--) {
		random = random * UINT64_C(6364136223846793005) + 1442695040888963407;

		uint64_t other = (random >> 33) % i, link = next[i];

		next[i] = next[other];
		next[other] = link;
	}
	printf("pointer chase      %llu\n", (unsigned long long)chase_pointers(next, CHAIN_STEPS));
	free(next);
}

static void run_reciprocals(void)
{
	double *x = array(RECIPROCAL_N, 2), *y = array(RECIPROCAL_N, 0);

	for (int sweep = 0; sweep < RECIPROCAL_SWEEPS; sweep++)
		reciprocal_roots(y, x, RECIPROCAL_N);
	printf("reciprocal roots   %.6f\n", y[5]);
	free(x);
	free(y);
}

static void run_hash(void)
{
	static uint8_t bytes[HASH_BYTES];
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (int i = 0; i < HASH_BYTES; i++)
		bytes[i] = (uint8_t)(i * 7);
	for (int sweep = 0; sweep < HASH_SWEEPS; sweep++)
		hash = hash_bytes(bytes, HASH_BYTES, hash);
	printf("hash               %016llx\n", (unsigned long long)hash);
}

static void run_heat(void)
{
	pthread_t threads[THREADS];
	double values[THREADS];

	for (int i = 0; i < THREADS; i++) {
		values[i] = i;
		if (pthread_create(&threads[i], NULL, heat_thread, &values[i]))
			exit(1);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("heat               %.6f %.6f\n", values[0], values[1]);
}

int main(void)
{
	run_stream();
	run_stencil();
	run_polynomial();
	run_chain();
	run_reciprocals();
	run_hash();
	run_heat();
	return 0;
}
