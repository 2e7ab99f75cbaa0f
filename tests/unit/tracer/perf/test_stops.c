#include "tracer/perf/stops.h"

#include <criterion/criterion.h>

enum { TICK = 4000, PERIOD = 1000 };

static uint64_t sample(struct perf_stops *stops, uint32_t tid, uint64_t time)
{
	const struct perf_record record = {.tid = tid, .time = time, .period = PERIOD};
	return perf_stops_weight(stops, &record, TICK);
}

static void stop(struct perf_stops *stops, uint32_t tid, uint64_t time)
{
	const struct perf_record record = {.tid = tid, .time = time};
	perf_stops_add(stops, &record);
}

Test(stops, a_sample_stands_for_its_period)
{
	struct perf_stops stops = {0};
	cr_assert_eq(sample(&stops, 1, 10000), PERIOD);
	cr_assert_eq(sample(&stops, 1, 90000), PERIOD);
}

/* The sample that was one too many is still a whole one: the next makes up for the stop. */
Test(stops, the_first_sample_behind_a_stop_stands_for_the_time_since)
{
	struct perf_stops stops = {0};
	stop(&stops, 1, 10000);
	cr_assert_eq(sample(&stops, 1, 10000), PERIOD);
	cr_assert_eq(sample(&stops, 2, 12000), PERIOD, "another thread");
	cr_assert_eq(sample(&stops, 1, 13500), 3500);
	cr_assert_eq(sample(&stops, 1, 14500), PERIOD);
}

Test(stops, of_a_pause_no_more_than_a_tick_counts)
{
	struct perf_stops stops = {0};
	stop(&stops, 1, 10000);
	sample(&stops, 1, 10000);
	cr_assert_eq(sample(&stops, 1, 90000), PERIOD + TICK);
}
