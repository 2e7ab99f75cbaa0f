/* Compiled C with static functions: only the flop are known, the compiler chooses the rest. */
#include "truth.h"

enum { N = 200 };

#ifdef __clang__
#define KEPT __attribute__((noinline)) static
#else
#define KEPT __attribute__((noinline, noclone)) static
#endif

KEPT void matrix_product(int n, const double *a, const double *b, double *c)
{
	for (int i = 0; i < n; i++)
		for (int j = 0; j < n; j++) {
			double element = 0;

			for (int k = 0; k < n; k++)
				element += a[i * n + k] * b[k * n + j];
			c[i * n + j] = element;
		}
}

KEPT double horner(const double *coefficients, int degree, double x)
{
	double value = coefficients[degree];

	for (int i = degree; i-- > 0;)
		value = value * x + coefficients[i];
	return value;
}

KEPT float mean(const float *x, int n)
{
	float total = 0;

	for (int i = 0; i < n; i++)
		total += x[i];
	return total / (float)n;
}

int main(void)
{
	static float x[N];
	double *a = doubles(N * N, 0.5), *b = doubles(N * N, 2), *c = doubles(N * N, 0);

	for (int i = 0; i < N; i++)
		x[i] = (float)i;
	matrix_product(N, a, b, c);
	printf("%.17g %.17g %.9g\n", c[7], horner(a, N - 1, 0.5), (double)mean(x, N));
	TRUTH("matrix_product", .flop_only = 1,
	      KINDS({ "mul_double_scalar", N * N * N }, { "add_double_scalar", N * N * N }));
	TRUTH("horner", .flop_only = 1,
	      KINDS({ "mul_double_scalar", N - 1 }, { "add_double_scalar", N - 1 }));
	TRUTH("mean", .flop_only = 1, KINDS({ "add_single_scalar", N }, { "div_single_scalar", 1 }));
	free(a);
	free(b);
	free(c);
	return 0;
}
