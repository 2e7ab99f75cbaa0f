/* Kernels that move data ([T] chapter 3, [G] algorithms 1 and 3, [T] 1.1), and that compute in
 * registers ([T] chapter 5, [G] algorithm 2). */
#include "paper.h"

#include <immintrin.h>

static void one(void)
{
	make(0, (size_t)size_n, 1, 2);
}

static void three(void)
{
	for (int k = 0; k < 3; k++)
		make(k, (size_t)size_n, 1, 2);
}

/* ---- [T] chapter 3: read, write, write past the caches, triad ---- */

static volatile double kept;

KERNEL(read_all)
{
	const real *a = array(0);
	const long n = size_n;
	double s0 = 0, s1 = 0, s2 = 0, s3 = 0, s4 = 0, s5 = 0, s6 = 0, s7 = 0;
	PASSES
	for (long i = 0; i < n; i += 8) {
		s0 += a[i];
		s1 += a[i + 1];
		s2 += a[i + 2];
		s3 += a[i + 3];
		s4 += a[i + 4];
		s5 += a[i + 5];
		s6 += a[i + 6];
		s7 += a[i + 7];
	}
	kept = s0 + s1 + s2 + s3 + s4 + s5 + s6 + s7;
}

static struct counts read_truth(uint64_t n)
{
	return (struct counts){n, 8 * n, 0};
}

KERNEL(write_all)
{
	real *a = array(0);
	const long n = size_n;
	PASSES
	for (long i = 0; i < n; i++)
		a[i] = 1.5;
}

static struct counts write_truth(uint64_t n)
{
	return (struct counts){0, 0, 8 * n};
}

KERNEL(write_stream)
{
	double *a = (double *)array(0);
	const long n = size_n;
	const __m128d value = _mm_set1_pd(1.5);
	PASSES
	for (long i = 0; i < n; i += 2)
		_mm_stream_pd(&a[i], value);
	_mm_sfence();
}

KERNEL(triad)
{
	real *a = array(0);
	const real *b = array(1), *c = array(2);
	const long n = size_n;
	PASSES
	for (long i = 0; i < n; i++)
		a[i] = b[i] + 3.0 * c[i];
}

static struct counts triad_truth(uint64_t n)
{
	return (struct counts){2 * n, 16 * n, 8 * n};
}

/* ---- [T] chapter 5, [G] algorithm 2: in registers ---- */

#define CHAINS 8

/* n operations of each of the chains. */
#define REGISTERS(name, operation)                                                               \
	KERNEL(name)                                                                             \
	{                                                                                        \
		double r0 = 1, r1 = 2, r2 = 3, r3 = 4, r4 = 5, r5 = 6, r6 = 7, r7 = 8, base = 1; \
		const long n = size_n;                                                           \
		__asm__ volatile("" : "+x"(base));                                               \
		PASSES                                                                           \
		for (long i = 0; i < n; i++) {                                                   \
			r0 operation base;                                                       \
			r1 operation base;                                                       \
			r2 operation base;                                                       \
			r3 operation base;                                                       \
			r4 operation base;                                                       \
			r5 operation base;                                                       \
			r6 operation base;                                                       \
			r7 operation base;                                                       \
			__asm__ volatile(""                                                      \
					 : "+x"(r0), "+x"(r1), "+x"(r2), "+x"(r3), "+x"(r4),     \
					   "+x"(r5), "+x"(r6), "+x"(r7));                        \
		}                                                                                \
		kept = r0 + r1 + r2 + r3 + r4 + r5 + r6 + r7;                                    \
	}
REGISTERS(add, +=)
REGISTERS(mul, *=)

static struct counts registers_truth(uint64_t n)
{
	return (struct counts){CHAINS * n, 0, 0};
}

#define TRIALS 1000

KERNEL(fp_crunch)
{
	real *a = array(0);
	const real *b = array(1), *c = array(2);
	const long n = size_n;
	PASSES
	for (long i = 0; i < n; i++) {
		double sum = a[i], x = b[i], y = c[i];
		for (int trial = 0; trial < TRIALS; trial++) {
			sum += x * y;
			__asm__ volatile("" : "+x"(x)); /* or it would multiply once */
		}
		a[i] = sum;
	}
}

static struct counts crunch_truth(uint64_t n)
{
	return (struct counts){2 * TRIALS * n, 24 * n, 8 * n};
}

/* ---- [G] algorithm 3: one element each `offset`, as often as makes the same work ---- */

#define CONFLICT_ELEMENTS (1l << 16) /* more than L1 has, less than L2 */
#define CONFLICT_WORK (1l << 18)

static void conflict_data(void)
{
	make(0, CONFLICT_ELEMENTS, 1, 1);
}

KERNEL(conflict)
{
	real *a = array(0);
	const long offset = size_n, trials = CONFLICT_WORK * offset / CONFLICT_ELEMENTS;
	PASSES
	for (long k = 0; k < trials; k++)
		for (long i = 0; i < CONFLICT_ELEMENTS; i += offset)
			a[i] = 1.5 * a[i];
}

/* Turns of the inner loop: elements over the offset, rounded up. */
static struct counts conflict_truth(uint64_t offset)
{
	const uint64_t times = (uint64_t)CONFLICT_WORK * offset / CONFLICT_ELEMENTS *
			       ((CONFLICT_ELEMENTS + offset - 1) / offset);
	return (struct counts){times, 8 * times, 8 * times};
}

/* ---- [T] 1.1: the same transformation of m × 4 elements, by rows and by columns ---- */

#define COLUMNS 4

static void matrix_of_columns(void)
{
	make(0, (size_t)size_n * COLUMNS, 1, 1);
}

KERNEL(by_rows)
{
	real *m = array(0);
	const long n = size_n;
	PASSES
	for (long i = 0; i < n; i++)
		for (int j = 0; j < COLUMNS; j++)
			m[i * COLUMNS + j] = 3 * j * j * m[i * COLUMNS + j];
}

KERNEL(by_columns)
{
	real *m = array(0);
	const long n = size_n;
	PASSES
	for (int j = 0; j < COLUMNS; j++) {
		const double factor = 3 * j * j;
		for (long i = 0; i < n; i++)
			m[i * COLUMNS + j] = factor * m[i * COLUMNS + j];
	}
}

static struct counts order_truth(uint64_t n)
{
	return (struct counts){COLUMNS * n, 8 * COLUMNS * n, 8 * COLUMNS * n};
}

int main(int argc, char **argv)
{
	static const struct kernel kernels[] = {
		{"read_all", one, read_all, read_truth},
		{"write_all", one, write_all, write_truth},
		{"write_stream", one, write_stream, write_truth},
		{"triad", three, triad, triad_truth},
		{"add", one, add, registers_truth},
		{"mul", one, mul, registers_truth},
		{"fp_crunch", three, fp_crunch, crunch_truth},
		{"conflict", conflict_data, conflict, conflict_truth},
		{"by_rows", matrix_of_columns, by_rows, order_truth},
		{"by_columns", matrix_of_columns, by_columns, order_truth},
		{NULL, NULL, NULL, NULL}};
	return paper_main(argc, argv, kernels);
}
