/* Matrix products: the triple loop, [O]'s and [T]'s blocked one of six loops, [T]'s with scalar
 * replacement, and [G]'s algorithms 4 to 7.  C ← A·B + C, n × n by rows. */
#include "paper.h"

#define BLOCK 50 /* N_B of [O] and [T] */
#ifndef BLOCK_G
#define BLOCK_G 32 /* of [G]'s algorithm 7; n is a multiple of both where they are used */
#endif

static void matrices(void)
{
	for (int k = 0; k < 3; k++)
		make(k, (size_t)(size_n * size_n), 0, 1);
}

#define PART static inline __attribute__((always_inline))

#define MATRICES                                 \
	const real *a = array(0), *b = array(1); \
	real *c = array(2);                      \
	const long n = size_n

/* [T] 6.1.3, the first listing, and [G] algorithm 4, with the sum in a register. */
KERNEL(triple)
{
	MATRICES;
	PASSES
	for (long i = 0; i < n; i++)
		for (long j = 0; j < n; j++) {
			double sum = c[i * n + j];
			for (long k = 0; k < n; k++)
				sum += a[i * n + k] * b[k * n + j];
			c[i * n + j] = sum;
		}
}

static struct counts triple_truth(uint64_t n)
{
	return (struct counts){2 * n * n * n, 16 * n * n * n + 8 * n * n, 8 * n * n};
}

/* Three loops over blocks, as one, so that registers suffice: `block` is called with the blocks'
 * first elements, for all rows i, then columns j, then k of blocks. */
#define BLOCKS(size, block, at_b)                                              \
	const long m = n >= (size) ? n / (size) : 1; /* n is a multiple */     \
	PASSES                                                                 \
	for (long t = 0; t < m * m * m; t++) {                                 \
		const long i0 = t / (m * m) * (size), j0 = t / m % m * (size), \
			   k0 = t % m * (size);                                \
		block(&a[i0 * n + k0], &b[at_b], &c[i0 * n + j0], n);          \
	}

/* [O] IV, Study of code optimizations: six loops, N_B = 50. */
PART void block_of_six(const real *a, const real *b, real *c, long n)
{
	for (long i = 0; i < BLOCK; i++, a += n, c += n)
		for (long j = 0; j < BLOCK; j++) {
			double sum = c[j];
			for (long k = 0; k < BLOCK; k++)
				sum += a[k] * b[k * n + j];
			c[j] = sum;
		}
}

KERNEL(six)
{
	MATRICES;
	BLOCKS(BLOCK, block_of_six, k0 * n + j0)
}

static struct counts six_truth(uint64_t n)
{
	return (struct counts){2 * n * n * n, 16 * n * n * n + 8 * n * n * (n / BLOCK),
			       8 * n * n * (n / BLOCK)};
}

/* [T] 6.1.3, the second listing, N_u = M_u = K_u = 2, with scalar replacement. */
PART void two_by_two(const real *a, const real *b, real *c, long n)
{
	const double a00 = a[0], a01 = a[1], a10 = a[n], a11 = a[n + 1];
	const double b00 = b[0], b01 = b[1], b10 = b[n], b11 = b[n + 1];
	c[0] = c[0] + a00 * b00 + a01 * b10;
	c[1] = c[1] + a00 * b01 + a01 * b11;
	c[n] = c[n] + a10 * b00 + a11 * b10;
	c[n + 1] = c[n + 1] + a10 * b01 + a11 * b11;
}

PART void block_of_two(const real *a, const real *b, real *c, long n)
{
	for (long i = 0; i < BLOCK; i += 2, a += 2 * n, c += 2 * n)
		for (long j = 0; j < BLOCK; j += 2)
			for (long k = 0; k < BLOCK; k += 2)
				two_by_two(&a[k], &b[k * n + j], &c[j], n);
}

KERNEL(scalar)
{
	MATRICES;
	BLOCKS(BLOCK, block_of_two, k0 * n + j0)
}

static struct counts scalar_truth(uint64_t n)
{
	return (struct counts){2 * n * n * n, 12 * n * n * n, 4 * n * n * n};
}

/* [G] algorithm 5: B is there transposed. */
KERNEL(transposed)
{
	MATRICES;
	PASSES
	for (long i = 0; i < n; i++)
		for (long j = 0; j < n; j++) {
			double sum = c[i * n + j];
			for (long k = 0; k < n; k++)
				sum += a[i * n + k] * b[j * n + k];
			c[i * n + j] = sum;
		}
}

/* [G] algorithm 6: eight columns at a time; n is a multiple of 8. */
KERNEL(unroll_jam)
{
	MATRICES;
	PASSES
	for (long i = 0; i < n; i++)
		for (long j = 0; j < n; j += 8) {
			real *to = &c[i * n + j];
			const real *row = &b[j * n], *end = &a[i * n + n];
			double s0 = to[0], s1 = to[1], s2 = to[2], s3 = to[3], s4 = to[4],
			       s5 = to[5], s6 = to[6], s7 = to[7];
			for (const real *from = &a[i * n]; from < end; from++, row++) {
				const double x = *from;
				s0 += x * row[0];
				s1 += x * row[n];
				s2 += x * row[2 * n];
				s3 += x * row[3 * n];
				s4 += x * row[4 * n];
				s5 += x * row[5 * n];
				s6 += x * row[6 * n];
				s7 += x * row[7 * n];
			}
			to[0] = s0;
			to[1] = s1;
			to[2] = s2;
			to[3] = s3;
			to[4] = s4;
			to[5] = s5;
			to[6] = s6;
			to[7] = s7;
		}
}

static struct counts jam_truth(uint64_t n)
{
	return (struct counts){2 * n * n * n, 9 * n * n * n + 8 * n * n, 8 * n * n};
}

/* [G] algorithm 7: blocks, B transposed. */
PART void block_of_rows(const real *a, const real *b, real *c, long n)
{
	for (long i = 0; i < BLOCK_G; i++, a += n, c += n)
		for (long j = 0; j < BLOCK_G; j++) {
			double sum = c[j];
			for (long k = 0; k < BLOCK_G; k++)
				sum += a[k] * b[j * n + k];
			c[j] = sum;
		}
}

KERNEL(blocked)
{
	MATRICES;
	BLOCKS(BLOCK_G, block_of_rows, j0 * n + k0)
}

static struct counts blocked_truth(uint64_t n)
{
	return (struct counts){2 * n * n * n, 16 * n * n * n + 8 * n * n * (n / BLOCK_G),
			       8 * n * n * (n / BLOCK_G)};
}

int main(int argc, char **argv)
{
	static const struct kernel kernels[] = {{"triple", matrices, triple, triple_truth},
						{"six", matrices, six, six_truth},
						{"scalar", matrices, scalar, scalar_truth},
						{"transposed", matrices, transposed, triple_truth},
						{"unroll_jam", matrices, unroll_jam, jam_truth},
						{"blocked", matrices, blocked, blocked_truth},
						{NULL, NULL, NULL, NULL}};
	return paper_main(argc, argv, kernels);
}
