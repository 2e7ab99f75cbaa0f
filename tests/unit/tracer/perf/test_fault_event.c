#include "tracer/perf/fault_event.h"

#include <criterion/criterion.h>

#define MS 1000000ull

/* So many samples, of 397 faults each, in so many ms. */
static bool is_often(struct fault_event *fault, int samples, int ms)
{
	for (int i = 0; i < samples; i++)
		fault_event_add(fault);
	for (int i = 0; i < ms; i++)
		fault_event_add_time(fault, MS);
	return fault_event_is_often(fault);
}

Test(fault_event, often_begins_at_150000_a_second_and_ends_below_75000)
{
	struct fault_event fault = {.event = -1, .period = 397};
	cr_assert(!is_often(&fault, 37, 100));
	cr_assert(is_often(&fault, 38, 100));
	cr_assert(is_often(&fault, 19, 100));
	cr_assert(!is_often(&fault, 18, 100));
	cr_assert(!is_often(&fault, 37, 100));
}

Test(fault_event, a_burst_of_a_moment_is_no_rate)
{
	struct fault_event fault = {.event = -1, .period = 397};
	cr_assert(!is_often(&fault, 7, 10));
	cr_assert(!is_often(&fault, 0, 10), "7 in 20 ms");
}

Test(fault_event, it_ends_after_8_ms_without)
{
	struct fault_event fault = {.event = -1, .period = 397};
	cr_assert(is_often(&fault, 38, 100));
	cr_assert(is_often(&fault, 0, 7), "too short to tell");
	cr_assert(!is_often(&fault, 1, 1), "50,000 a second");
}
