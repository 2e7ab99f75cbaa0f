/* The kernels of 1/16 and of 8 flop per byte of [W] Winklehner and Friedl, 2016. */
#include "paper.h"

#include <immintrin.h>

#define R1(x) x
#define R2(x) R1(x) R1(x)
#define R4(x) R2(x) R2(x)
#define R8(x) R4(x) R4(x)
#define R16(x) R8(x) R8(x)
#define R32(x) R16(x) R16(x)
#define R64(x) R32(x) R32(x)
#define R128(x) R64(x) R64(x)

static void one(void)
{
	make(0, (size_t)size_n, 1, 1);
}

/* x·x + x neither grows without end from there, nor becomes denormal soon. */
static void negative(void)
{
	make(0, (size_t)size_n, -0.5, -0.25);
}

static void three(void)
{
	make(0, (size_t)size_n, 1, 1);
	make(1, (size_t)size_n, 0.25, 0.5);
	make(2, (size_t)size_n, 0.5, 0.75);
}

/* Listing 2, "with questionable compiled form": each product goes to memory. */
KERNEL(listing2)
{
	const real *a = array(0), *b = array(1);
	const long n = size_n;
	__attribute__((unused)) volatile double product;
	PASSES
	for (long i = 0; i < n; i++)
		product = a[i] * b[i];
}

/* Listing 3. */
KERNEL(simple16)
{
	real *a = array(0);
	const long n = size_n;
	PASSES
	for (long i = 0; i < n; i++) {
		const double x = a[i];
		a[i] = x * x;
	}
}

/* Listing 4. */
KERNEL(fma16)
{
	real *a = array(0);
	const real *b = array(1), *c = array(2);
	const long n = size_n;
	PASSES
	for (long i = 0; i < n; i++)
		a[i] = a[i] * b[i] + c[i];
}

/* Listing 6: a product of 129 factors, which -ffast-math may compute by squaring. */
KERNEL(simple8)
{
	real *a = array(0);
	const long n = size_n;
	PASSES
	for (long i = 0; i < n; i++) {
		const double x = a[i];
		a[i] = R128(x *) x;
	}
}

/* Listing 7. */
KERNEL(fma8)
{
	real *a = array(0);
	const long n = size_n;
	PASSES
	for (long i = 0; i < n; i++) {
		double x = a[i];
		R64(x = x * x + x;)
		a[i] = x;
	}
}

/* Listing 8: squaring 128 times, of which nothing can be left out. */
KERNEL(simple8fastmath)
{
	real *a = array(0);
	const long n = size_n;
	PASSES
	for (long i = 0; i < n; i++) {
		double x = a[i];
		R128(x = x * x;)
		a[i] = x;
	}
}

/* Listing 9: vectors of four by hand. */
__attribute__((target("avx,fma"))) KERNEL(fma8manpack)
{
	double *a = (double *)array(0);
	const long n = size_n;
	PASSES
	for (long i = 0; i < n; i += 4) {
		__m256d x = _mm256_load_pd(&a[i]);
		R64(x = _mm256_fmadd_pd(x, x, x);)
		_mm256_store_pd(&a[i], x);
	}
}

static struct counts sixteenth(uint64_t n)
{
	return (struct counts){n, 8 * n, 8 * n};
}

static struct counts listing2_truth(uint64_t n)
{
	return (struct counts){n, 16 * n, 8 * n};
}

static struct counts sixteenth_fma(uint64_t n)
{
	return (struct counts){2 * n, 24 * n, 8 * n};
}

static struct counts eight(uint64_t n)
{
	return (struct counts){128 * n, 8 * n, 8 * n};
}

int main(int argc, char **argv)
{
	static const struct kernel kernels[] = {{"simple16", one, simple16, sixteenth},
						{"listing2", three, listing2, listing2_truth},
						{"fma16", three, fma16, sixteenth_fma},
						{"simple8", one, simple8, eight},
						{"fma8", negative, fma8, eight},
						{"simple8fastmath", one, simple8fastmath, eight},
						{"fma8manpack", negative, fma8manpack, eight},
						{NULL, NULL, NULL, NULL}};
	if (argc > 1 && strcmp(argv[1], "fma8manpack") == 0 && !__builtin_cpu_supports("fma")) {
		fprintf(stderr, "this CPU has no fma\n");
		return 77;
	}
	return paper_main(argc, argv, kernels);
}
