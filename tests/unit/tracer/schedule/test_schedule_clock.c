/* Runs by the clock, made by chance: whatever is moved, time stays the same. */
#include "tests/unit/splitmix.h"
#include "tracer/schedule/schedule_clock.h"

#include <criterion/criterion.h>

enum { ROUNDS = 300, PIECES = 200, LEVELS = 5, MS = 1000000 };

static uint64_t state = 3;

static uint64_t any(uint64_t n)
{
	return random_number(&state) % n;
}

/* Returns how long it is. */
static uint64_t make(struct schedule_sums *sums)
{
	const uint64_t start = 1000 * MS;
	uint64_t at = start;
	schedule_sums_init(sums);
	for (int i = 0; i < PIECES; i++) {
		const uint64_t next = at + 1 + any(20 * MS);
		const size_t running = any(LEVELS);
		schedule_sums_add(sums, at, next, running, any(2));
		if (running)
			schedule_sums_switch(sums, at, running - 1, any(2),
					     (double)(1 + any(20000)));
		at = next;
	}
	return at - start;
}

static uint64_t busy_by_levels(const struct schedule_sums *sums)
{
	uint64_t ns = 0;
	for (size_t k = 0; k < sums->n_running; k++)
		ns += k * sums->running_ns[k];
	return ns;
}

static uint64_t busy_by_strip(const struct schedule_sums *sums)
{
	uint64_t ns = 0;
	for (size_t i = 0; i < SCHEDULE_STRIP; i++)
		ns += sums->busy_ns[i];
	return ns;
}

static void check(const struct schedule_sums *sums, uint64_t length, uint64_t busy)
{
	const uint64_t slack = SCHEDULE_STRIP + LEVELS; /* parts are whole ns */
	uint64_t all = 0;
	for (size_t k = 0; k < sums->n_running; k++)
		all += sums->running_ns[k];
	cr_assert_eq(all, length);
	cr_assert_leq(sums->idle_ready_ns, sums->running_ns[0]);
	cr_assert(busy_by_levels(sums) <= busy + slack && busy_by_levels(sums) + slack >= busy);
	cr_assert(busy_by_strip(sums) <= busy + slack && busy_by_strip(sums) + slack >= busy);
}

Test(schedule_clock, threads_that_ran_longer_or_less)
{
	for (int round = 0; round < ROUNDS; round++) {
		struct schedule_sums sums;
		const uint64_t length = make(&sums);
		uint64_t busy = busy_by_levels(&sums), ns = any(2 * MS);
		check(&sums, length, busy);
		schedule_sums_lengthen(&sums, ns);
		check(&sums, length, busy += ns);
		ns = any(30 * MS);
		schedule_sums_steal(&sums, ns);
		check(&sums, length, busy -= ns);
		schedule_sums_ready(&sums, 0.3);
		check(&sums, length, busy);
		schedule_sums_deinit(&sums);
	}
}

/* The beginning of the run, in which its first thread had no processor, and its end. */
Test(schedule_clock, a_thread_that_did_not_run)
{
	struct schedule_sums sums;
	schedule_sums_init(&sums);
	schedule_sums_add(&sums, 100 * MS, 130 * MS, 1, false);
	schedule_sums_shorten(&sums, 100 * MS, 110 * MS, 6 * MS, true);
	schedule_sums_shorten(&sums, 128 * MS, 130 * MS, 9 * MS, false);
	cr_assert_eq(sums.running_ns[1], 22 * MS);
	cr_assert_eq(sums.running_ns[0], 8 * MS);
	cr_assert_eq(sums.idle_ready_ns, 6 * MS);
	cr_assert_leq(busy_by_strip(&sums), 22 * MS + 20);
	cr_assert_geq(busy_by_strip(&sums), 22 * MS);
	schedule_sums_deinit(&sums);
}
