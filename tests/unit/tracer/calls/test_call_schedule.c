/* Breakpoints are on all the time where calls are long, and for a share of it where they are short.
 */
#include "tracer/calls/call_schedule.h"

#include <criterion/criterion.h>

#define HIT_NS 10000.0
#define MS UINT64_C(1000000)

struct simulated {
	uint64_t on_ns, windows;
	double spent_ns;
	bool is_on;
};

/* A program that calls all the time, each call `call_ns` long, for `run_ns` of its own time.  It
 * has a processor for 3 ms, and then others have it for `share - 1` times as long. */
static struct simulated simulate(uint64_t call_ns, uint64_t run_ns, unsigned share)
{
	struct call_schedule schedule;
	struct simulated sum = {.is_on = true};
	double hits = 0, ran = 0;
	call_schedule_begin(&schedule, HIT_NS, 0);
	for (uint64_t now = 0; now < run_ns * share;) {
		uint64_t next = call_schedule_next(&schedule, now);
		const uint64_t slice = now / (3 * MS), end = (slice + 1) * 3 * MS;
		const bool runs = slice % share == 0;
		/* rings are read each 2 ms at the latest while breakpoints are hit often */
		if (sum.is_on && next > now + 2 * MS)
			next = now + 2 * MS;
		cr_assert(next >= now);
		next = next > now ? next : now + 1;
		next = share > 1 && next > end ? end : next;
		if (sum.is_on && runs) {
			const double n = 2 * (double)(next - now) / ((double)call_ns + 2 * HIT_NS);
			hits += n;
			sum.spent_ns += n * HIT_NS;
			sum.on_ns += next - now;
		}
		ran += runs ? (double)(next - now) : 0;
		now = next;
		const uint64_t turned = schedule.turned;
		const struct call_load load = {(uint64_t)hits, (uint64_t)ran};
		sum.is_on = call_schedule_step(&schedule, now, &load);
		if (schedule.turned != turned) {
			sum.windows++;
			hits = ran = 0;
		}
	}
	return sum;
}

Test(call_schedule, long_calls_are_all_timed)
{
	const struct simulated sum = simulate(6 * MS, 3000 * MS, 1);
	cr_assert(sum.is_on && sum.on_ns >= 3000 * MS, "%lu", (unsigned long)sum.on_ns);
}

Test(call_schedule, short_ones_cost_a_share)
{
	static const uint64_t lengths[] = {100, 1000, 10000, 100000, 1000000, 2000000};
	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		const struct simulated sum = simulate(lengths[i], 10000 * MS, 1);
		cr_assert(sum.spent_ns < 0.0045 * 1e10 + 3e6, "%lu ns: %.0f ns of 10 s",
			  (unsigned long)lengths[i], sum.spent_ns);
		const bool are_told =
			lengths[i] >= 10 * HIT_NS; /* else they are rarely looked at */
		cr_assert(sum.windows >= (are_told ? 80 : 8), "%lu ns: %lu windows",
			  (unsigned long)lengths[i], (unsigned long)sum.windows);
		cr_assert(!are_told || sum.spent_ns > 0.0015 * 1e10, "%lu ns: %.0f ns",
			  (unsigned long)lengths[i], sum.spent_ns);
		cr_assert(are_told || sum.spent_ns < 0.002 * 1e10, "%lu ns: %.0f ns",
			  (unsigned long)lengths[i], sum.spent_ns);
	}
}

/* Windows are where the cycle has them, whatever falls into them. */
Test(call_schedule, places_do_not_depend_on_calls)
{
	struct call_schedule a, b;
	call_schedule_begin(&a, HIT_NS, 0);
	call_schedule_begin(&b, HIT_NS, 0);
	const struct call_load many = {400, 4 * MS}, few = {20, 2 * MS}, none = {0, 2 * MS};
	cr_assert_not(call_schedule_step(&a, 4 * MS, &many) ||
		      call_schedule_step(&b, 4 * MS, &many));
	cr_assert(call_schedule_next(&a, 4 * MS) == a.on && a.on == b.on && a.off == b.off);
	cr_assert(call_schedule_step(&a, a.on, &many) && call_schedule_step(&b, b.on, &many));
	cr_assert(call_schedule_step(&a, a.off - 1, &none) &&
		  call_schedule_step(&b, b.off - 1, &few));
	cr_assert_not(call_schedule_step(&a, a.off, &none) || call_schedule_step(&b, b.off, &few));
}

/* The same share of a program's own time where others have the processors for most of the time: a
 * window in which it did not run says nothing of what its calls would take. */
Test(call_schedule, costs_go_by_the_threads_own_time)
{
	static const uint64_t lengths[] = {100000, 300000, 1000000, 2000000};
	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		const struct simulated sum = simulate(lengths[i], 5000 * MS, 10);
		cr_assert(sum.spent_ns < 0.0045 * 5e9 + 3e6, "%lu ns: %.0f ns of 5 s",
			  (unsigned long)lengths[i], sum.spent_ns);
		cr_assert(sum.spent_ns > 0.001 * 5e9, "%lu ns: %.0f ns", (unsigned long)lengths[i],
			  sum.spent_ns);
	}
	const struct simulated sum = simulate(6 * MS, 1000 * MS, 10);
	cr_assert(sum.is_on && sum.on_ns >= 999 * MS, "%lu", (unsigned long)sum.on_ns);
}
