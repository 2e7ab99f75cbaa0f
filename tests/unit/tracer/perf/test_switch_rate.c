#include "tracer/perf/switch_rate.h"

#include <criterion/criterion.h>

#define MS 1000000ull

/* So many switches to threads, each with one from them, and births. */
static void take(struct switch_rate *rate, int switches, int births)
{
	const struct perf_record in = {.type = PERF_RECORD_SWITCH},
				 out = {.type = PERF_RECORD_SWITCH,
					.misc = PERF_RECORD_MISC_SWITCH_OUT},
				 birth = {.type = PERF_RECORD_FORK};
	for (int i = 0; i < switches; i++) {
		switch_rate_add(rate, &in);
		switch_rate_add(rate, &out);
	}
	for (int i = 0; i < births; i++)
		switch_rate_add(rate, &birth);
}

/* One whose time begins at `now`. */
static struct switch_rate begun(uint64_t now)
{
	struct switch_rate rate = {0};
	cr_assert(!switch_rate_is_high(&rate, now));
	return rate;
}

Test(switch_rate, begins_at_3000_a_second_and_ends_below_1500)
{
	struct switch_rate rate = begun(1000 * MS);
	take(&rate, 29, 0);
	cr_assert(!switch_rate_is_high(&rate, 1010 * MS));
	take(&rate, 31, 0);
	cr_assert(switch_rate_is_high(&rate, 1020 * MS));
	take(&rate, 16, 0);
	cr_assert(switch_rate_is_high(&rate, 1030 * MS));
	take(&rate, 14, 0);
	cr_assert(!switch_rate_is_high(&rate, 1040 * MS));
	take(&rate, 29, 0);
	cr_assert(!switch_rate_is_high(&rate, 1050 * MS));
}

Test(switch_rate, a_burst_of_a_moment_is_no_rate)
{
	struct switch_rate rate = begun(1000 * MS);
	take(&rate, 25, 0);
	cr_assert(!switch_rate_is_high(&rate, 1001 * MS));
	cr_assert(!switch_rate_is_high(&rate, 1010 * MS), "25 in 10 ms");
}

Test(switch_rate, short_lives_do_not_count)
{
	struct switch_rate rate = begun(1000 * MS);
	take(&rate, 190, 10);
	cr_assert(!switch_rate_is_high(&rate, 1010 * MS));
	take(&rate, 200, 10);
	cr_assert(switch_rate_is_high(&rate, 1020 * MS));
}

/* What was switched before anybody looked has no known beginning. */
Test(switch_rate, needs_a_beginning)
{
	struct switch_rate rate = {0};
	take(&rate, 100000, 0);
	cr_assert(!switch_rate_is_high(&rate, 1000 * MS));
	cr_assert(!switch_rate_is_high(&rate, 1010 * MS));
}

/* All is recorded until threads switch very often; then a window and a gap take turns until they do
 * not. */
Test(switch_rate, windows)
{
	struct switch_windows windows = {0};
	uint64_t now = 1000 * MS, gaps = 0, other = 0;
	switch_windows_go_on(&windows, 49000, now);
	cr_assert_eq(windows.state, SWITCHES_ALL);
	for (; now < 2000 * MS; now += MS) {
		switch_windows_go_on(&windows, 40000 + 20000 * (now < 1500 * MS), now);
		cr_assert_neq(windows.state, SWITCHES_ALL);
		gaps += windows.state == SWITCHES_GAP;
		other += windows.state != SWITCHES_GAP;
	}
	cr_assert(gaps > 9 * other && gaps < 20 * other);
	for (; now < 2200 * MS; now += MS)
		switch_windows_go_on(&windows, 29000, now);
	cr_assert_eq(windows.state, SWITCHES_ALL);
}
