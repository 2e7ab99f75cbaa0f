/* STREAM triad over three arrays of 32 MiB, far beyond the caches. */
#include <stdio.h>
#include <stdlib.h>

enum { N = 4 << 20, SWEEPS = 450 };

__attribute__((noinline)) static void triad(double *a, const double *b, const double *c, double s)
{
	for (long i = 0; i < N; i++)
		a[i] = b[i] + s * c[i];
}

int main(void)
{
	double *a = malloc(N * sizeof(double)), *b = malloc(N * sizeof(double)),
	       *c = malloc(N * sizeof(double));

	if (!a || !b || !c)
		return 1;
	for (long i = 0; i < N; i++) {
		b[i] = 1;
		c[i] = 2;
	}
	for (int sweep = 0; sweep < SWEEPS; sweep++)
		triad(a, b, c, sweep);
	printf("%g\n", a[7]);
	free(a);
	free(b);
	free(c);
	return 0;
}
