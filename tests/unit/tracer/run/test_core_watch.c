/* Looks at the processors that a sampler tells of, and at no others. */
#include "base/clock.h"
#include "tracer/run/core_watch.h"

#include <criterion/criterion.h>
#include <sched.h>
#include <time.h>

/* For as long as a look takes some times over, with marks of this thread's processor or without. */
static struct core_looks watched(int cpu)
{
	struct sampler sampler = {.first_only = false};
	struct core_looks looks;
	struct core_watch *watch = core_watch_start(&sampler);
	cr_assert_not_null(watch);
	const uint64_t end = clock_now_ns() + 2000000000;
	for (int i = 0; i < 100 && clock_now_ns() < end; i++) {
		const struct timespec time = {.tv_nsec = 10000000};
		if (cpu >= 0)
			sampler_ran_on(&sampler, cpu);
		nanosleep(&time, NULL);
	}
	core_watch_stop(watch, &looks);
	return looks;
}

Test(core_watch, looks_where_there_are_samples)
{
	const struct core_looks looks = watched(sched_getcpu());
	cr_assert(looks.n >= 1 && looks.n <= 100, "%lu looks", looks.n);
	cr_expect(looks.clock_ghz > 0.05 && looks.clock_ghz < 12, "%g GHz", looks.clock_ghz);
	for (int i = 0; i < CORE_RATES; i++) {
		cr_expect(looks.rates[i] > 1e-3 && looks.rates[i] < 12, "%s: %g",
			  core_left_fact((enum core_rate)i), looks.rates[i]);
		cr_expect(looks.least[i] > 1.0 / 12, "%s: %g", core_left_fact((enum core_rate)i),
			  looks.least[i]);
	}
}

Test(core_watch, does_not_look_where_there_are_none)
{
	cr_expect_eq(watched(-1).n, 0);
	cr_expect_eq(watched(SAMPLER_CPUS + 5).n, 0);
}

/* A processor that this process may not use, or that is not there. */
Test(core_watch, leaves_out_what_it_cannot_go_to)
{
	cr_expect_eq(watched(SAMPLER_CPUS - 1).n, 0);
}
