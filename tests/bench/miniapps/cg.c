/* Conjugate gradients with a symmetric Gauss-Seidel step as preconditioner, on the 27-point
 * operator of a cube, its matrix kept by rows (as HPCG does).
 *
 * cg [EDGE [ITERATIONS]] */
#include "miniapp.h"

#define MOST 27 /* entries of a row */

struct matrix {
	int n;
	int *entries, *column; /* of each row: how many, and their columns */
	double *value, *diagonal;
};

static uint64_t n_entries; /* of all rows */
static uint64_t n_dot, n_axpy, n_multiply, n_smooth;

static struct matrix make_matrix(int edge)
{
	struct matrix a = {.n = edge * edge * edge};
	a.entries = array_of((size_t)a.n, sizeof(int));
	a.column = array_of((size_t)a.n * MOST, sizeof(int));
	a.value = array_of((size_t)a.n * MOST, sizeof(double));
	a.diagonal = array_of((size_t)a.n, sizeof(double));
	for (int row = 0; row < a.n; row++) {
		const int x = row % edge, y = row / edge % edge, z = row / edge / edge;
		for (int k = 0; k < MOST; k++) {
			const int i = x + k % 3 - 1, j = y + k / 3 % 3 - 1, l = z + k / 9 - 1;
			if (i < 0 || j < 0 || l < 0 || i >= edge || j >= edge || l >= edge)
				continue;
			const int at = row * MOST + a.entries[row]++;
			a.column[at] = (l * edge + j) * edge + i;
			a.value[at] = a.column[at] == row ? 26 : -1;
		}
		a.diagonal[row] = 26;
		n_entries += (unsigned)a.entries[row];
	}
	return a;
}

/* 2 flop an entry */
KERNEL_FUNCTION void multiply(const struct matrix *a, const double *restrict x, double *restrict y)
{
	for (int row = 0; row < a->n; row++) {
		const double *value = a->value + (size_t)row * MOST;
		const int *column = a->column + (size_t)row * MOST;
		double sum = 0;
		for (int k = 0; k < a->entries[row]; k++)
			sum += value[k] * x[column[k]];
		y[row] = sum;
	}
	n_multiply += 2 * n_entries;
}

/* 2 flop an entry and 3 a row, there and back */
KERNEL_FUNCTION void smooth(const struct matrix *a, const double *restrict r, double *restrict x)
{
	for (int pass = 0; pass < 2; pass++)
		for (int i = 0; i < a->n; i++) {
			const int row = pass ? a->n - 1 - i : i;
			const double *value = a->value + (size_t)row * MOST;
			const int *column = a->column + (size_t)row * MOST;
			double sum = r[row];
			for (int k = 0; k < a->entries[row]; k++)
				sum -= value[k] * x[column[k]];
			sum += x[row] * a->diagonal[row];
			x[row] = sum / a->diagonal[row];
		}
	n_smooth += 2 * (2 * n_entries + 3ull * (unsigned)a->n);
}

/* 2 flop a row */
KERNEL_FUNCTION double dot(int n, const double *x, const double *y)
{
	double sum = 0;
	for (int i = 0; i < n; i++)
		sum += x[i] * y[i];
	n_dot += 2ull * (unsigned)n;
	return sum;
}

/* z = x + s y: 2 flop a row */
KERNEL_FUNCTION void axpy(int n, const double *x, double s, const double *y, double *z)
{
	for (int i = 0; i < n; i++)
		z[i] = x[i] + s * y[i];
	n_axpy += 2ull * (unsigned)n;
}

int main(int n, char **words)
{
	const int edge = argument(n, words, 1, 48), iterations = argument(n, words, 2, 50);
	const struct matrix a = make_matrix(edge);
	double *vectors = array_of((size_t)a.n * 5, sizeof(double));
	double *x = vectors, *r = x + a.n, *z = r + a.n, *p = z + a.n, *q = p + a.n;
	double rz = 1;
	for (int i = 0; i < a.n; i++)
		r[i] = 1 + i % 3;
	for (int k = 0; k < iterations; k++) {
		for (int i = 0; i < a.n; i++)
			z[i] = 0;
		smooth(&a, r, z);
		const double old = rz;
		rz = dot(a.n, r, z);
		axpy(a.n, z, k ? rz / old : 0, p, p);
		multiply(&a, p, q);
		const double alpha = rz / dot(a.n, p, q);
		axpy(a.n, x, alpha, p, x);
		axpy(a.n, r, -alpha, q, r);
	}
	printf("residual %.6g\n", dot(a.n, r, r));
	truth("smooth", n_smooth);
	truth("multiply", n_multiply);
	truth("dot", n_dot);
	truth("axpy", n_axpy);
	return 0;
}
