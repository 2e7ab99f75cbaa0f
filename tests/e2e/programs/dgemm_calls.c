/* Multiplies matrices of n by n numbers so many times. */
#include <cblas.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	const int n = argc > 1 ? atoi(argv[1]) : 100, calls = argc > 2 ? atoi(argv[2]) : 1;
	double *a = calloc((size_t)n * n, sizeof(*a)), *b = calloc((size_t)n * n, sizeof(*b));
	double *c = calloc((size_t)n * n, sizeof(*c));
	if (!a || !b || !c)
		return 1;
	for (int i = 0; i < calls; i++)
		cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, a, n, b, n, 1, c,
			    n);
	return 0;
}
