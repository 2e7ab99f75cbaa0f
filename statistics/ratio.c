/* Sums of pairs, and what their scatter says of the ratio. */
#include "statistics/ratio.h"

#include "statistics/student.h"

#include <math.h>

void ratio_add(struct ratio *ratio, double y, double x)
{
	if (x <= 0)
		return;
	ratio->n++;
	ratio->y += y;
	ratio->x += x;
	ratio->yy += y * y;
	ratio->xy += x * y;
	ratio->xx += x * x;
}

double ratio_halfwidth(const struct ratio *ratio)
{
	if (ratio->n < 2)
		return INFINITY;
	const double n = ratio->n, r = ratio->y / ratio->x;
	const double rest = ratio->yy - 2 * r * ratio->xy + r * r * ratio->xx;
	return rf_student(ratio->n - 1) * sqrt(fmax(rest, 0) * n / (n - 1)) / ratio->x;
}
