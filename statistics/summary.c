/* Order statistics. */
#include "statistics/summary.h"

#include "base/search.h"

#include <assert.h>
#include <stdlib.h>

static int compare_figures(const void *left, const void *right)
{
	const double l = *(const double *)left, r = *(const double *)right;
	return rf_compare(l, r);
}

static double quantile(const double *sorted, size_t n, double q)
{
	const double at = q * (double)(n - 1);
	const size_t below = (size_t)at;
	if (below + 1 >= n)
		return sorted[n - 1];
	return sorted[below] + (at - (double)below) * (sorted[below + 1] - sorted[below]);
}

struct summary rf_summary(double *figures, size_t n)
{
	assert(n > 0);
	qsort(figures, n, sizeof(*figures), compare_figures);
	return (struct summary){
		.least = figures[0],
		.q1 = quantile(figures, n, 0.25),
		.median = quantile(figures, n, 0.5),
		.q3 = quantile(figures, n, 0.75),
		.most = figures[n - 1],
	};
}
