#include "machine/data/roof_history.h"
#include "tracer/run/run_roofs.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static struct roof row(enum roof_level level, double best, double now)
{
	struct roof roof = {.kind = ROOF_BANDWIDTH,
			    .op = ROOF_OP_READ,
			    .level = level,
			    .threads = 2,
			    .best = best,
			    .now = now,
			    .unit = "GB/s"};
	roof_history_add(&roof, 1763769600, best); /* 2025-11-22 */
	if (now > 0)
		roof_history_add(&roof, 1763856000, now);
	return roof;
}

Test(run_roofs, a_slower_machine_is_told)
{
	struct roof roofs[] = {row(ROOF_LEVEL_L1, 400, 399), row(ROOF_LEVEL_DRAM, 91.2, 46.1),
			       row(ROOF_LEVEL_L3, 200, 150), row(ROOF_LEVEL_L2, 300, 0)};
	const struct machine machine = {.roofs = roofs, .n_roofs = 4};
	double share;
	char *text = run_roofs_slower(&machine, &share);
	cr_assert_not_null(text);
	cr_expect_str_eq(text, "SLOWER NOW: DRAM read with 2 threads at 51 % of its roof");
	cr_expect_float_eq(share, 46.1 / 91.2, 1e-9);
	free(text);
}

Test(run_roofs, the_same_machine_is_not_told_of)
{
	struct roof roofs[] = {row(ROOF_LEVEL_L1, 400, 399), row(ROOF_LEVEL_DRAM, 91.2, 80)};
	const struct machine machine = {.roofs = roofs, .n_roofs = 2};
	double share;
	cr_assert_null(run_roofs_slower(&machine, &share));
	cr_expect_float_eq(share, 80 / 91.2, 1e-9);
	roofs[0].now = roofs[1].now = 0; /* nothing was measured */
	cr_assert_null(run_roofs_slower(&machine, &share));
	cr_expect_eq(share, 1);
}

Test(run_roofs, behind_short_runs_once_an_hour)
{
	struct roof roofs[] = {row(ROOF_LEVEL_L1, 400, 399), row(ROOF_LEVEL_DRAM, 91.2, 0)};
	const struct machine machine = {.roofs = roofs, .n_roofs = 2}, fresh = {0};
	const int64_t last = 1763856000; /* of the first row */
	cr_expect(run_roofs_due(&machine, 0.25e9, last));
	cr_expect_not(run_roofs_due(&machine, 0.24e9, last));
	cr_expect_not(run_roofs_due(&machine, 0.24e9, last + 3600));
	cr_expect(run_roofs_due(&machine, 0.24e9, last + 3601));
	cr_expect(run_roofs_due(&machine, 0.24e9, last - 1), "the clock was put back");
	cr_expect(run_roofs_due(&fresh, 1, last));
}
