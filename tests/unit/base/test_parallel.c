/* Parts that run side by side do what they do one after another. */
#include "base/parallel.h"
#include "tests/unit/assert_ok.h"

#include <criterion/criterion.h>
#include <stdint.h>

struct sums {
	size_t n_parts;
	uint64_t sum[PARALLEL_MOST];
	int fails[PARALLEL_MOST];
};

static struct rf_error *add(size_t part, void *context)
{
	struct sums *sums = context;
	for (uint64_t i = part; i < 100000; i += sums->n_parts)
		sums->sum[part] += i;
	return sums->fails[part] ? rf_error_create(RF_EINPUT, NULL, "part %zu", part) : NULL;
}

Test(parallel, each_part_runs_once)
{
	for (size_t n = 1; n <= PARALLEL_MOST; n++) {
		struct sums sums = {.n_parts = n};
		uint64_t all = 0;
		assert_ok(parallel_run(n, add, &sums));
		for (size_t part = 0; part < n; part++)
			all += sums.sum[part];
		cr_assert_eq(all, 100000ull * 99999 / 2);
	}
}

Test(parallel, the_first_error_is_told)
{
	struct sums sums = {.n_parts = 8, .fails = {[3] = 1, [5] = 1}};
	struct rf_error *error = parallel_run(8, add, &sums);
	cr_assert_not_null(error);
	cr_expect_str_eq(error->message, "part 3");
	rf_error_destroy(error);
}

Test(parallel, parts_are_worth_a_thread)
{
	cr_expect_eq(parallel_parts(0, 100), 1);
	cr_expect_eq(parallel_parts(199, 100), 1);
	cr_expect_leq(parallel_parts(300, 100), 3);
	cr_expect_leq(parallel_parts(SIZE_MAX, 1), PARALLEL_MOST);
}
