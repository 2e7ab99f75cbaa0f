/* Kernels whose traffic at the border of memory is known, when the caches are smaller than an array: bytes read
 * (with write-allocates) and written.  Each prints its truth. */
#include <immintrin.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 1 << 17, REPEATS = 4, SIDE = 362 /* SIDE² < N */ };

static double *a, *b, *c;
static uint32_t *order;
static volatile double sink;

#include "stream_kernels.h"

KERNEL fill(void)
{
	for (long i = 0; i < N; i++)
		a[i] = 3;
}

KERNEL update(void)
{
	for (long i = 0; i < N; i++)
		a[i] = a[i] * a[i];
}

/* x and y stay in the cache. */
KERNEL dgemv(void)
{
	for (long i = 0; i < SIDE; i++) {
		double s = 0;
		for (long j = 0; j < SIDE; j++)
			s += a[i * SIDE + j] * b[j];
		c[i] = s;
	}
}

KERNEL copy_non_temporal(void)
{
	for (long i = 0; i < N; i += 2)
		_mm_stream_pd(a + i, _mm_load_pd(b + i));
}

KERNEL string_store(void)
{
	void *to = a;
	long n = N;
	__asm__ volatile("rep stosq" : "+D"(to), "+c"(n) : "a"(0l) : "memory");
}

KERNEL string_move(void)
{
	void *to = a, *from = b;
	long n = N * 8l;
	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
}

/* Downward; the program's own flag is upward. */
KERNEL string_store_down(void)
{
	void *to = a + N - 1;
	long n = N;
	__asm__ volatile("std\n\trep stosq\n\tcld" : "+D"(to), "+c"(n) : "a"(0l) : "memory", "cc");
}

/* Accesses that straddle lines touch both. */
KERNEL straddle(void)
{
	const char *bytes = (const char *)a + 60;
	uint64_t s = 0, word;
	for (long i = 0; i + 8 < N; i += 16) { /* every second border between two lines */
		__builtin_memcpy(&word, bytes + 8 * i, 8);
		s += word;
	}
	sink = (double)s;
}

KERNEL push_and_pop(void)
{
	for (long i = 0; i < N; i++)
		__asm__ volatile("push %%rax\n\tpop %%rax" : : : "memory");
}

KERNEL __attribute__((target("avx2"))) gather(void)
{
	__m256d s = _mm256_setzero_pd();
	for (long i = 0; i < N; i += 4)
		s = _mm256_add_pd(s, _mm256_i32gather_pd(a, _mm_load_si128((const __m128i *)(order + i)), 8));
	sink = s[0];
}

/* Half of the lanes, and so half of the lines. */
KERNEL __attribute__((target("avx512f"))) masked(void)
{
	for (long i = 0; i < N; i += 8)
		_mm512_mask_storeu_pd(a + i, i % 16 ? 0 : 0x0f, _mm512_set1_pd(1));
}

/* Lines are left through, so that changed ones are written back. */
KERNEL sweep(void)
{
	double s = 0;
	for (long i = 0; i < N; i += 8)
		s += b[i] + c[i];
	sink = s;
}

struct kernel { const char *name; void (*run)(void); double read, written; };

static void run(const struct kernel *kernel)
{
	for (int i = 0; i < REPEATS; i++)
		kernel->run();
	printf("%s %.0f %.0f\n", kernel->name, kernel->read * REPEATS, kernel->written * REPEATS);
}

static void make(void)
{
	a = aligned_alloc(64, 8 * N);
	b = aligned_alloc(64, 8 * N);
	c = aligned_alloc(64, 8 * N);
	order = aligned_alloc(64, 4 * N);
	for (long i = 0; i < N; i++) {
		a[i] = b[i] = c[i] = 1;
		order[i] = (uint32_t)(i * 40503u % N); /* odd: each index once */
	}
}

int main(void)
{
	const double n = 8.0 * N, side = 8.0 * SIDE * SIDE;
	const struct kernel kernels[] = {
		{"sum", sum, n, 0},
		{"fill", fill, n, n},
		{"copy", copy, 2 * n, n},
		{"triad", triad, 3 * n, n},
		{"daxpy", daxpy, 2 * n, n},
		{"update", update, n, n},
		{"dgemv", dgemv, side, 0},
		{"copy_non_temporal", copy_non_temporal, n, n},
		{"string_store", string_store, n, n},
		{"string_store_down", string_store_down, n, n},
		{"string_move", string_move, 2 * n, n},
		{"straddle", straddle, n, 0},
		{"push_and_pop", push_and_pop, 0, 0},
	};
	const struct kernel with_avx2 = {"gather", gather, 0, 0};
	const struct kernel with_avx512 = {"masked", masked, n / 2, n / 2};
	make();
	for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++)
		run(&kernels[i]);
	if (__builtin_cpu_supports("avx512f"))
		run(&with_avx512);
	if (__builtin_cpu_supports("avx2"))
		run(&with_avx2);
	sweep();
	return 0;
}
