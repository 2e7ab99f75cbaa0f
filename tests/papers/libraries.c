/* Kernels of libraries: OpenBLAS stands for MKL and ATLAS, FFTW for SPIRAL and MKL's transforms
 * ([O], [T]).  What they compute is known, how they do it is theirs. */
#define AT_LEAST
#include "paper.h"

#include <cblas.h>
#include <complex.h>
#include <fftw3.h>

static fftw_plan plan;

static void vectors(void)
{
	make(0, (size_t)size_n, 1, 2);
	make(1, (size_t)size_n, 1, 2);
}

static void matrix_vector(void)
{
	vectors();
	make(2, (size_t)(size_n * size_n), 0, 1);
}

static void matrices(void)
{
	for (int k = 0; k < 3; k++)
		make(k, (size_t)(size_n * size_n), 0, 1);
}

/* Planning by estimate does not touch the data, and is the same in each run. */
static void transform(void)
{
	make(0, 2 * (size_t)size_n, -1, 1);
	plan = fftw_plan_dft_1d((int)size_n, (fftw_complex *)arrays[0], (fftw_complex *)arrays[0],
				FFTW_FORWARD, FFTW_ESTIMATE);
}

KERNEL(daxpy)
{
	PASSES cblas_daxpy((int)size_n, 1e-6, (double *)array(0), 1, (double *)array(1), 1);
}

KERNEL(dgemv)
{
	const int n = (int)size_n;
	PASSES cblas_dgemv(CblasRowMajor, CblasNoTrans, n, n, 1e-6, (double *)array(2), n,
			   (double *)array(0), 1, 0.5, (double *)array(1), 1);
}

KERNEL(dgemm)
{
	const int n = (int)size_n;
	PASSES cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1e-6,
			   (double *)array(0), n, (double *)array(1), n, 0.5, (double *)array(2),
			   n);
}

KERNEL(fftw)
{
	PASSES fftw_execute_dft(plan, (fftw_complex *)array(0), (fftw_complex *)array(0));
}

/* [O] table I; of a transform what is commonly said of one. */
static struct counts daxpy_expected(uint64_t n)
{
	return (struct counts){2 * n, 16 * n, 8 * n};
}

static struct counts dgemv_expected(uint64_t n)
{
	return (struct counts){2 * n * n + 2 * n, 8 * n * n + 16 * n, 8 * n};
}

static struct counts dgemm_expected(uint64_t n)
{
	return (struct counts){2 * n * n * n + 2 * n * n, 24 * n * n, 8 * n * n};
}

static struct counts transform_expected(uint64_t n)
{
	return (struct counts){5 * n * (63 - (uint64_t)__builtin_clzll(n)), 16 * n, 16 * n};
}

int main(int argc, char **argv)
{
	static const struct kernel kernels[] = {{"daxpy", vectors, daxpy, daxpy_expected},
						{"dgemv", matrix_vector, dgemv, dgemv_expected},
						{"dgemm", matrices, dgemm, dgemm_expected},
						{"fftw", transform, fftw, transform_expected},
						{NULL, NULL, NULL, NULL}};
	return paper_main(argc, argv, kernels);
}
