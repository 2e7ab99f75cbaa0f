/* The matrix product as a triple loop over rows and columns. */
#include <stdio.h>

enum { N = 1600 };

static double a[N][N], b[N][N], c[N][N];

__attribute__((noinline)) static void dgemm(void)
{
	for (int i = 0; i < N; i++)
		for (int j = 0; j < N; j++) {
			double element = 0;

			for (int k = 0; k < N; k++)
				element += a[i][k] * b[k][j];
			c[i][j] = element;
		}
}

int main(void)
{
	for (int i = 0; i < N; i++)
		for (int j = 0; j < N; j++) {
			a[i][j] = i % 7;
			b[i][j] = j % 5;
		}
	dgemm();
	printf("%g\n", c[N / 2][3]);
	return 0;
}
