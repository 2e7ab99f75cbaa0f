/* A square matrix is transposed, N by N doubles, row by row: transpose N. */
#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline)) static void transpose(double *restrict to, const double *restrict from, long n)
{
	for (long i = 0; i < n; i++)
		for (long k = 0; k < n; k++)
			to[k * n + i] = from[i * n + k];
}

int main(int argc, char **argv)
{
	const long n = argc > 1 ? atol(argv[1]) : 1024;
	const size_t bytes = (size_t)(n * n) * sizeof(double);
	double *from = aligned_alloc(4096, bytes), *to = aligned_alloc(4096, bytes);
	if (!from || !to)
		return 1;
	for (long i = 0; i < n * n; i++)
		from[i] = (double)i;
	for (int k = 0; k < 3; k++)
		transpose(to, from, n);
	printf("%g\n", to[n + 3]);
	free(from);
	free(to);
	return 0;
}
