#include "statistics/ratio.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

static double uniform(void)
{
	return (double)random() / RAND_MAX;
}

Test(ratio, alike_pairs_leave_nothing_open)
{
	struct ratio ratio = {0};
	for (int i = 1; i <= 9; i++)
		ratio_add(&ratio, 3.0 * i, i);
	cr_expect_float_eq(ratio.y / ratio.x, 3, 1e-12);
	cr_expect_float_eq(ratio_halfwidth(&ratio), 0, 1e-6);
}

Test(ratio, one_pair_tells_nothing_of_others)
{
	struct ratio ratio = {0};
	cr_expect(isinf(ratio_halfwidth(&ratio)));
	ratio_add(&ratio, 1, 0); /* without executions */
	ratio_add(&ratio, 5, 2);
	cr_expect(isinf(ratio_halfwidth(&ratio)));
}

/* In 95 of 100 draws the interval holds the ratio of all, or nearly so where there are few pairs.
 */
Test(ratio, holds)
{
	srandom(5);
	for (unsigned n = 4; n <= 64; n *= 4) {
		unsigned held = 0;
		const unsigned draws = 4000;
		for (unsigned draw = 0; draw < draws; draw++) {
			struct ratio ratio = {0};
			for (unsigned i = 0; i < n; i++) {
				const double x = 50 + 100 * uniform();
				ratio_add(&ratio, x * (1 + uniform()), x);
			}
			held += fabs(ratio.y / ratio.x - 1.5) <= ratio_halfwidth(&ratio);
		}
		cr_expect_gt(held, (n < 16 ? 0.90 : 0.93) * draws, "%u of %u with %u pairs", held,
			     draws, n);
	}
}
