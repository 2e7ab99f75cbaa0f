#include "machine/data/roof_history.h"

#include <criterion/criterion.h>

static struct roof measured(int64_t when_s, double best, double median)
{
	struct roof row = {.kind = ROOF_BANDWIDTH,
			   .op = ROOF_OP_READ,
			   .level = ROOF_LEVEL_DRAM,
			   .threads = 2,
			   .best = best,
			   .median = median,
			   .q1 = median * 0.99,
			   .q3 = median * 1.01,
			   .theory = 100,
			   .isa = ROOF_ISA_AVX2};
	roof_history_add(&row, when_s, best);
	return row;
}

/* The first stays, of the others the last ones, and none is lost from the number. */
Test(roof_history, is_bounded)
{
	struct roof row = measured(1000, 50, 49);
	for (int i = 1; i < 100; i++)
		roof_history_add(&row, 1000 + i, 50 + i);
	cr_assert_eq(row.n_measured, 100);
	cr_assert_eq(row.n_history, ROOF_HISTORY);
	cr_assert_eq(row.history[0].when_s, 1000);
	for (int i = 1; i < ROOF_HISTORY; i++)
		cr_assert_eq(row.history[i].when_s, 1100 - ROOF_HISTORY + i);
}

Test(roof_history, the_best_is_the_roof)
{
	struct roof row = measured(1000, 91, 90);
	const struct roof slow = measured(2000, 46, 45);
	roof_take_again(&row, &slow);
	cr_assert(row.best == 91 && row.median == 90, "a slower mode lowers nothing");
	cr_assert(row.n_measured == 2 && row.history[1].best == 46);
	double lowest, highest;
	cr_assert(roof_history_range(&row, &lowest, &highest));
	cr_assert(lowest == 46 && highest == 91);
	cr_assert_eq(roof_history_slow(&row), 1);
}

/* A faster mode brings its own statistics, a better repeat in the same mode does not. */
Test(roof_history, statistics_belong_to_the_best)
{
	struct roof row = measured(1000, 46, 45);
	struct roof again = measured(2000, 46.5, 44);
	again.theory = 101;
	again.isa = ROOF_ISA_AVX512F;
	roof_take_again(&row, &again);
	cr_assert(row.best == 46.5 && row.median == 45 && row.theory == 101);
	cr_assert_eq(row.isa, ROOF_ISA_AVX2);
	again = measured(3000, 91, 90);
	again.theory = 0; /* not known this time */
	again.isa = ROOF_ISA_AVX512F;
	roof_take_again(&row, &again);
	cr_assert(row.best == 91 && row.median == 90 && row.theory == 101);
	cr_assert_eq(row.isa, ROOF_ISA_AVX512F);
	cr_assert_eq(roof_history_slow(&row), 2);
}

Test(roof_history, a_row_without_one)
{
	const struct roof row = {.best = 3};
	double lowest, highest;
	cr_assert_not(roof_history_range(&row, &lowest, &highest));
	cr_assert_eq(roof_history_slow(&row), 0);
}
