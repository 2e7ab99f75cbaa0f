/* The parts of the preconditioned conjugate gradients of [H] Hofmann et al., 2019, chapter 5: a
 * five-point stencil without a stored matrix, a symmetric Gauss-Seidel sweep, and three of BLAS 1;
 * and the whole solver.  The grid has n × n points and a border of one. */
#include "paper.h"

#include <math.h>

/* The matrix: one number in the middle, one for each pair of neighbours; they are read at run time,
 * so that the compiler does not know that they are 1. */
struct weights {
	double centre, inverse, across, along;
};

static inline __attribute__((always_inline)) struct weights weights(void)
{
	struct weights w = {4, 0.25, 1, 1};
	__asm__ volatile("" : "+x"(w.centre), "+x"(w.inverse), "+x"(w.across), "+x"(w.along));
	return w;
}

enum { X, R, Z, P, Q, B };

static void grid(void)
{
	const size_t points = (size_t)(size_n + 2) * (size_t)(size_n + 2);
	for (int k = 0; k <= B; k++)
		make(k, points, 0, k == B || k == R || k == P);
}

#define ROWS for (long j = 1; j <= n; j++)
#define POINTS for (long i = 1; i <= n; i++)

#define PART static inline __attribute__((always_inline))

/* q ← A·p */
PART void stencil_pass(struct weights w, real *q, const real *p, long n)
{
	const long row = n + 2;
	ROWS
	{
		real *to = &q[j * row];
		const real *from = &p[j * row];
		POINTS
		to[i] = w.centre * from[i] - w.across * (from[i - 1] + from[i + 1]) -
			w.along * (from[i - row] + from[i + row]);
	}
}

PART double dot_pass(const real *x, const real *y, long n)
{
	double sum = 0;
	ROWS POINTS sum += x[j * (n + 2) + i] * y[j * (n + 2) + i];
	return sum;
}

PART double norm_pass(const real *x, long n)
{
	double sum = 0;
	ROWS POINTS
	{
		const double value = x[j * (n + 2) + i];
		sum += value * value;
	}
	return sum;
}

/* y ← a·x + b·y */
PART void daxpby_pass(double a, const real *x, double b, real *y, long n)
{
	ROWS POINTS y[j * (n + 2) + i] = a * x[j * (n + 2) + i] + b * y[j * (n + 2) + i];
}

/* z ← (D + L)⁻¹ r; what a point gives the next one stays in a register. */
PART void forward_pass(struct weights w, real *z, const real *r, long n)
{
	const long row = n + 2;
	ROWS
	{
		real *to = &z[j * row];
		double before = 0;
		POINTS
		{
			before = (r[j * row + i] + w.across * before + w.along * to[i - row]) *
				 w.inverse;
			to[i] = before;
		}
	}
}

/* z ← D (D + U)⁻¹ z */
PART void backward_pass(struct weights w, real *z, long n)
{
	const long row = n + 2;
	for (long j = n; j >= 1; j--) {
		real *to = &z[j * row];
		double before = 0;
		for (long i = n; i >= 1; i--) {
			before = to[i] + (w.across * before + w.along * to[i + row]) * w.inverse;
			to[i] = before;
		}
	}
}

static volatile double kept;

KERNEL(stencil)
{
	const struct weights w = weights();
	const real *p = array(P);
	real *q = array(Q);
	const long n = size_n;
	PASSES stencil_pass(w, q, p, n);
}

KERNEL(dot)
{
	const real *p = array(P), *q = array(Q);
	const long n = size_n;
	double sum = 0;
	PASSES sum = dot_pass(p, q, n);
	kept = sum;
}

KERNEL(norm)
{
	const real *r = array(R);
	const long n = size_n;
	double sum = 0;
	PASSES sum = norm_pass(r, n);
	kept = sum;
}

KERNEL(daxpby)
{
	const real *p = array(P);
	real *x = array(X);
	const long n = size_n;
	PASSES daxpby_pass(0.5, p, 0.5, x, n);
}

KERNEL(gs_forward)
{
	const struct weights w = weights();
	const real *r = array(R);
	real *z = array(Z);
	const long n = size_n;
	PASSES forward_pass(w, z, r, n);
}

KERNEL(gs_backward)
{
	const struct weights w = weights();
	real *z = array(Z);
	const long n = size_n;
	PASSES backward_pass(w, z, n);
}

/* One iteration a pass; the parts are functions of their own, so that each has a row. */
static double rz;

KERNEL(stencil_part)
{
	stencil_pass(weights(), array(Q), array(P), size_n);
}
__attribute__((noinline, noclone)) static double dot_part(int a, int b)
{
	return dot_pass(array(a), array(b), size_n);
}
__attribute__((noinline, noclone)) static double norm_part(void)
{
	return norm_pass(array(R), size_n);
}
__attribute__((noinline, noclone)) static void daxpby_part(double a, int x, double b, int y)
{
	daxpby_pass(a, array(x), b, array(y), size_n);
}
KERNEL(forward_part)
{
	forward_pass(weights(), array(Z), array(R), size_n);
}
KERNEL(backward_part)
{
	backward_pass(weights(), array(Z), size_n);
}

KERNEL(pcg)
{
	PASSES
	{
		stencil_part(1);
		const double alpha = rz / dot_part(P, Q);
		daxpby_part(alpha, P, 1, X);
		daxpby_part(-alpha, Q, 1, R);
		kept = norm_part();
		forward_part(1);
		backward_part(1);
		const double next = dot_part(R, Z);
		daxpby_part(1, Z, next / rz, P);
		rz = next;
	}
}

/* Of A·x = b from x = 0, so that r = b. */
static void begin_pcg(void)
{
	grid();
	const long n = size_n, row = n + 2;
	for (long k = 0; k < row * row; k++) {
		const long i = k % row, j = k / row;
		const int inside = i >= 1 && i <= n && j >= 1 && j <= n;
		arrays[X][k] = arrays[Z][k] = arrays[Q][k] = arrays[P][k] = 0;
		arrays[R][k] = inside ? arrays[B][k] : 0;
	}
	forward_pass(weights(), array(Z), array(R), n);
	backward_pass(weights(), array(Z), n);
	memcpy(arrays[P], arrays[Z], (size_t)(row * row) * sizeof(double));
	rz = dot_pass(array(R), array(Z), n);
}

#define TRUTH(name, flop, loads, stores)                                                     \
	static struct counts name(uint64_t n)                                                \
	{                                                                                    \
		return (struct counts){(flop)*n * n, 8 * (loads)*n * n, 8 * (stores)*n * n}; \
	}
TRUTH(stencil_truth, 7, 5, 1)
TRUTH(dot_truth, 2, 2, 0)
TRUTH(norm_truth, 2, 1, 0)
TRUTH(daxpby_truth, 3, 2, 1)
TRUTH(sweep_truth, 5, 2, 1)

int main(int argc, char **argv)
{
	static const struct kernel kernels[] = {{"stencil", grid, stencil, stencil_truth},
						{"dot", grid, dot, dot_truth},
						{"norm", grid, norm, norm_truth},
						{"daxpby", grid, daxpby, daxpby_truth},
						{"gs_forward", grid, gs_forward, sweep_truth},
						{"gs_backward", grid, gs_backward, sweep_truth},
						{"pcg", begin_pcg, pcg, NULL},
						{NULL, NULL, NULL, NULL}};
	const int status = paper_main(argc, argv, kernels);
	if (argc > 1 && strcmp(argv[1], "pcg") == 0 && status == 0)
		printf("residual %.6g\n", sqrt(kept));
	return status;
}
