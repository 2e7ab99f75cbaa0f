/* Transforms of n = 2^k values in place: the Fourier transform with its factors by recurrence, as
 * the routine of Numerical Recipes has them ([O], [T]; the algorithm, not its text), the same with
 * a table of them, and the Walsh-Hadamard transform ([T] 6.3). */
#include "paper.h"

#include <math.h>

/* Arrays: 0 complex values as pairs, 1 cos and sin of k/n of a turn, 2 by stage sin of a half and
 * of the whole angle. */
static void fourier_data(void)
{
	const long n = size_n;
	make(0, 2 * (size_t)n, -1, 1);
	make(1, (size_t)n + 2, 0, 0);
	make(2, 130, 0, 0);
	for (long c = 0; c < copies; c++) {
		double *table = arrays[1] + (size_t)c * array_sizes[1],
		       *stages = arrays[2] + (size_t)c * array_sizes[2];
		for (long k = 0; k < n / 2; k++) {
			table[2 * k] = cos(2 * M_PI * (double)k / (double)n);
			table[2 * k + 1] = sin(2 * M_PI * (double)k / (double)n);
		}
		long stage = 0;
		for (long length = 2; length <= n; length *= 2, stage++) {
			stages[2 * stage] = sin(M_PI / (double)length);
			stages[2 * stage + 1] = sin(2 * M_PI / (double)length);
		}
	}
}

static void wht_data(void)
{
	make(0, (size_t)size_n, -1, 1);
}

static unsigned log2_of(uint64_t n)
{
	return (unsigned)(63 - __builtin_clzll(n));
}

/* Values go to the places of their numbers' bits in reverse. */
static inline __attribute__((always_inline)) void reverse_bits(real *x, long n)
{
	for (long i = 0, j = 0; i < n; i++) {
		if (j > i) {
			const double re = x[2 * i], im = x[2 * i + 1];
			x[2 * i] = x[2 * j];
			x[2 * i + 1] = x[2 * j + 1];
			x[2 * j] = re;
			x[2 * j + 1] = im;
		}
		long bit = n >> 1;
		while (bit && (j & bit)) {
			j ^= bit;
			bit >>= 1;
		}
		j |= bit;
	}
}

/* 32 bytes are read and written for each pair; 2^⌈k/2⌉ numbers are their own reverse. */
static uint64_t reverse_bytes(uint64_t n)
{
	const unsigned k = log2_of(n);
	return (n - (UINT64_C(1) << (k + 1) / 2)) / 2 * 32;
}

/* x ← x + w·y, y ← x − w·y. */
static inline __attribute__((always_inline)) void butterfly(real *x, real *y, double wr, double wi)
{
	const double yr = y[0], yi = y[1], xr = x[0], xi = x[1];
	const double tr = wr * yr - wi * yi, ti = wr * yi + wi * yr;
	y[0] = xr - tr;
	y[1] = xi - ti;
	x[0] = xr + tr;
	x[1] = xi + ti;
}

/* The factor is turned from one group of butterflies to the next: w ← w + w·(e^iθ − 1). */
KERNEL(fft_recurrence)
{
	real *x = array(0);
	const real *stages = array(2);
	const long n = size_n;
	PASSES
	{
		const real *stage = stages;
		reverse_bits(x, n);
		for (long half = 1; half < n; half *= 2, stage += 2) {
			const double s = stage[0], pi = stage[1], pr = -2.0 * s * s;
			double wr = 1, wi = 0;
			for (long m = 0; m < half; m++) {
				for (long i = m; i < n; i += 2 * half)
					butterfly(&x[2 * i], &x[2 * (i + half)], wr, wi);
				const double before = wr;
				wr = wr + (wr * pr - wi * pi);
				wi = wi + (wi * pr + before * pi);
			}
		}
	}
}

/* 10 flop for each of n/2·k butterflies, 8 for each of n − 1 turns of the factor, 2 a stage. */
static struct counts recurrence_truth(uint64_t n)
{
	const uint64_t k = log2_of(n), moved = reverse_bytes(n) + 16 * n * k;
	return (struct counts){5 * n * k + 8 * (n - 1) + 2 * k, moved + 16 * k, moved};
}

/* Radix 2 with a table; groups one after the other, so that memory is walked through in order. */
KERNEL(fft_table)
{
	real *x = array(0);
	const real *table = array(1);
	const long n = size_n;
	PASSES
	{
		reverse_bits(x, n);
		for (long half = 1, step = n / 2; half < n; half *= 2, step /= 2)
			for (long i = 0; i < n; i += 2 * half)
				for (long m = 0; m < half; m++)
					butterfly(&x[2 * (i + m)], &x[2 * (i + m + half)],
						  table[2 * m * step], table[2 * m * step + 1]);
	}
}

static struct counts table_truth(uint64_t n)
{
	const uint64_t k = log2_of(n), moved = reverse_bytes(n) + 16 * n * k;
	return (struct counts){5 * n * k, moved + 8 * n * k, moved};
}

KERNEL(wht)
{
	real *x = array(0);
	const long n = size_n;
	PASSES
	for (long half = 1; half < n; half *= 2)
		for (long i = 0; i < n; i += 2 * half)
			for (long m = i; m < i + half; m++) {
				const double a = x[m], b = x[m + half];
				x[m] = a + b;
				x[m + half] = a - b;
			}
}

static struct counts wht_truth(uint64_t n)
{
	const uint64_t k = log2_of(n);
	return (struct counts){n * k, 8 * n * k, 8 * n * k};
}

int main(int argc, char **argv)
{
	static const struct kernel kernels[] = {{"fft_recurrence", fourier_data, fft_recurrence,
						 recurrence_truth},
						{"fft_table", fourier_data, fft_table, table_truth},
						{"wht", wht_data, wht, wht_truth},
						{NULL, NULL, NULL, NULL}};
	if (argc > 2 && (atol(argv[2]) & (atol(argv[2]) - 1))) {
		fprintf(stderr, "N is no power of two\n");
		return 2;
	}
	return paper_main(argc, argv, kernels);
}
