/* The ratio of two sums, estimated from pairs: so many events to so many executions in each of
 * several windows of time. */
#pragma once

/* All zero: no pairs. */
struct ratio {
	unsigned n;
	double y, x, yy, xy, xx; /* sums of y, x, and of their products */
};

void ratio_add(struct ratio *ratio, double y, double x);

/* Half of the 95 % confidence interval of y to x: Student's t with n - 1 degrees of freedom times
 * the standard error of a ratio of sums (Cochran, Sampling Techniques, 1977, eq. 2.39, without its
 * correction for a finite population).  Infinite where fewer than two pairs have an x above 0. */
double ratio_halfwidth(const struct ratio *ratio);
