#include "machine/roofs/measure.h"
#include "machine/roofs/team.h"

#include <criterion/criterion.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>

static void assert_ok(struct rf_error *error)
{
	cr_assert_null(error, "%s", error ? error->message : "");
}

/* Up to `most` hardware threads that this process may use. */
static int usable_cpus(int *cpus, int most)
{
	cpu_set_t set;
	int n = 0;
	cr_assert_eq(sched_getaffinity(0, sizeof(set), &set), 0);
	for (int cpu = 0; cpu < CPU_SETSIZE && n < most; cpu++)
		if (CPU_ISSET(cpu, &set))
			cpus[n++] = cpu;
	return n;
}

Test(measure, summary_of_known_samples)
{
	double five[] = {4, 1, 5, 3, 2};
	struct measure_rate rate = measure_summary(five, 5);
	cr_assert_eq(rate.best, 5);
	cr_assert_eq(rate.median, 3);
	cr_assert_eq(rate.q1, 2);
	cr_assert_eq(rate.q3, 4);
}

struct seen {
	atomic_int calls[2];
	int cpu[2];
	atomic_uint_least64_t count;
	bool signals_blocked;
};

static void note_thread(void *context, int thread)
{
	struct seen *seen = context;
	sigset_t blocked;
	pthread_sigmask(SIG_SETMASK, NULL, &blocked);
	seen->signals_blocked = sigismember(&blocked, SIGINT) == 1;
	seen->calls[thread]++;
	seen->cpu[thread] = sched_getcpu();
}

Test(measure, team_runs_on_every_thread_where_it_is_pinned)
{
	int cpus[2], n = usable_cpus(cpus, 2);
	struct team *team;
	struct seen seen = {0};
	assert_ok(team_create(cpus, n, &team));
	cr_assert_eq(team_size(team), n);
	cr_assert(team_is_pinned(team));
	for (int i = 0; i < 100; i++)
		team_run(team, note_thread, &seen);
	for (int i = 0; i < n; i++) {
		cr_assert_eq(seen.calls[i], 100);
		cr_assert_eq(seen.cpu[i], cpus[i]);
	}
	cr_assert(seen.signals_blocked);
	team_destroy(team);
	team_destroy(NULL);
}

Test(measure, team_says_that_it_is_not_pinned)
{
	int absent = CPU_SETSIZE * 4; /* larger than any machine: cannot be had */
	struct team *team;
	assert_ok(team_create(&absent, 1, &team));
	cr_assert_not(team_is_pinned(team));
	team_destroy(team);
}

struct rounds {
	struct team *team;
	atomic_int before, wrong;
};

static void cross_barriers(void *context, int thread)
{
	struct rounds *rounds = context;
	for (int i = 1; i <= 200; i++) {
		rounds->before++;
		team_barrier(rounds->team);
		/* All have counted, and none can count again before the next barrier. */
		if (rounds->before != i * team_size(rounds->team))
			rounds->wrong++;
		team_barrier(rounds->team);
	}
}

Test(measure, barrier_waits_for_all)
{
	int cpus[2], n = usable_cpus(cpus, 2);
	struct rounds rounds = {0};
	if (n == 1)
		cpus[1] = cpus[0];
	assert_ok(team_create(cpus, 2, &rounds.team));
	team_run(rounds.team, cross_barriers, &rounds);
	cr_assert_eq(rounds.wrong, 0);
	cr_assert_eq(rounds.before, 400);
	team_destroy(rounds.team);
}

static void count_work(void *context, int thread, uint64_t count)
{
	struct seen *seen = context;
	seen->calls[thread]++;
	seen->count += count;
	for (volatile uint64_t i = 0; i < count * 10; i++)
		;
}

Test(measure, the_fastest_candidate_is_found)
{
	int cpus[2], n = usable_cpus(cpus, 2);
	struct team *team;
	struct seen seen[3] = {0};
	/* The same loop, but the second one is said to do a million times the work in it. */
	const struct measure_task tasks[] = {
		{count_work, &seen[0], 1},
		{count_work, &seen[1], 1e6},
		{count_work, &seen[2], 1},
	};
	struct measure_series series = {0};
	assert_ok(team_create(cpus, n, &team));
	assert_ok(measure_search(team, tasks, 3, 2000, 2, &series));
	cr_assert_eq(series.best, 1);
	cr_assert_eq(series.n_rates, 0);
	cr_assert_eq(seen[1].calls[0], 2);
	cr_assert_eq(seen[2].calls[0], 2);
	assert_ok(measure_repeats(team, &tasks[1], 3, &series));
	cr_assert_eq(seen[1].calls[0], 2 + 3);
	cr_assert_eq(series.n_rates, 3);
	cr_assert_eq(series.clock_ghz, 0, "nobody asked for the clock");
	assert_ok(measure_repeats(team, &tasks[1], 4, &series));
	cr_assert_eq(series.n_rates, 3 + 4);
	for (int i = 1; i < n; i++)
		cr_assert_eq(seen[1].calls[i], seen[1].calls[0]);
	struct measure_rate rate = measure_summary(series.rates, series.n_rates);
	cr_assert(rate.q1 <= rate.median && rate.median <= rate.q3 && rate.q3 <= rate.best);
	cr_assert_gt(rate.q1, 0);
	measure_series_deinit(&series);
	team_destroy(team);
}

/* A repeat is as long as it was asked for, whatever the candidates' speed. */
Test(measure, the_count_fits_the_time)
{
	int cpus[1];
	struct team *team;
	struct seen seen = {0};
	const struct measure_task task = {count_work, &seen, 1, .with_clock = true};
	struct measure_series series = {0};
	usable_cpus(cpus, 1);
	assert_ok(team_create(cpus, 1, &team));
	assert_ok(measure_search(team, &task, 1, 1000000, 3, &series));
	assert_ok(measure_repeats(team, &task, 1, &series));
	/* rate · time = work of the count, with the best of few rates: within a factor. */
	double ms = series.count / series.rates[0] * 1e-6;
	cr_assert(ms > 0.2, "%g ms", ms);
	cr_assert(series.clock_ghz > 0.1 && series.clock_ghz < 10, "%g GHz", series.clock_ghz);
	measure_series_deinit(&series);
	team_destroy(team);
}

Test(measure, clock_is_a_clock)
{
	int cpus[1];
	struct team *team;
	double ghz = 0, fp_ghz = 0;
	usable_cpus(cpus, 1);
	assert_ok(team_create(cpus, 1, &team));
	assert_ok(measure_clocks(team, &ghz, &fp_ghz));
	cr_assert(ghz > 0.1 && ghz < 10, "%g GHz", ghz);
	cr_assert(fp_ghz > 0.1 && fp_ghz < 10, "%g GHz", fp_ghz);
	team_destroy(team);
}
