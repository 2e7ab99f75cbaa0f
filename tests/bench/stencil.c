/* Jacobi sweeps of the five-point stencil over 2048 x 2048 cells. */
#include <stdio.h>
#include <stdlib.h>

enum { N = 2048, SWEEPS = 700 };

__attribute__((noinline)) static void sweep(double (*restrict to)[N], double (*restrict from)[N])
{
	for (int i = 1; i < N - 1; i++)
		for (int j = 1; j < N - 1; j++)
			to[i][j] = 0.2 * (from[i][j] + from[i - 1][j] + from[i + 1][j] +
					  from[i][j - 1] + from[i][j + 1]);
}

int main(void)
{
	double(*a)[N] = calloc(N, sizeof(*a)), (*b)[N] = calloc(N, sizeof(*b));

	if (!a || !b)
		return 1;
	a[N / 2][N / 2] = b[N / 2][N / 2] = 1;
	for (int i = 0; i < SWEEPS / 2; i++) {
		sweep(b, a);
		sweep(a, b);
	}
	printf("%g\n", a[N / 2][N / 2]);
	free(a);
	free(b);
	return 0;
}
