/* Gaps in which no switch is told. */
#include "tests/unit/tracer/schedule/schedule_truth.h"

#include <criterion/criterion.h>

enum { ROUNDS = 400 };

static void put(struct schedule *schedule, enum schedule_kind kind, uint64_t time, uint32_t tid,
		uint32_t wait)
{
	cr_assert(schedule_record(schedule, kind, time, 7, tid, wait));
}

static uint64_t waited_in(const struct schedule *schedule, const struct truth *truth, int t)
{
	uint64_t ns = 0;
	for (int m = 0; m < MOMENTS; m++)
		if (truth->wait[t][m])
			ns += schedule_get_wait(schedule, truth->wait[t][m] - 1)->time_ns;
	return ns;
}

/* Wherever gaps are, a thread lives as long as it does, waits add up, and time by the clock is the
 * run's. */
static void check_whole(const struct schedule *schedule, const struct truth *truth, uint64_t length)
{
	size_t n;
	const struct schedule_thread *threads = schedule_threads(schedule, &n);
	const struct schedule_sums *sums = schedule_get_sums(schedule);
	uint64_t all = 0;
	for (size_t i = 0; i < n; i++) {
		const struct schedule_thread *of = &threads[i];
		cr_assert_eq(of->ran_ns + of->ready_ns + of->waited_ns, of->end - of->start);
		/* both are taken from and shared out in whole ns */
		const uint64_t waited =
			of->unknown_ns + waited_in(schedule, truth, (int)of->tid - 100);
		cr_assert(waited <= of->waited_ns + MOMENTS && waited + MOMENTS >= of->waited_ns);
	}
	for (size_t k = 0; k < sums->n_running; k++)
		all += sums->running_ns[k];
	cr_assert_eq(all, length);
	cr_assert_leq(sums->idle_ready_ns, sums->running_ns[0]);
}

Test(schedule_gaps, time_stays_what_it_is)
{
	static struct fed fed[THREADS * MOMENTS * 2];
	static struct truth truth;
	for (int round = 0; round < ROUNDS; round++) {
		struct schedule *schedule = schedule_create();
		make_truth(&truth);
		const size_t n = records_of(schedule, &truth, fed);
		for (size_t i = 0; i < n; i++) {
			const uint64_t time = fed[i].time;
			cr_assert(schedule_record(schedule, fed[i].kind, time, fed[i].pid,
						  fed[i].tid, fed[i].wait));
			if (any(30) == 0)
				put(schedule, any(2) ? SCHEDULE_GAP : SCHEDULE_WINDOW, time, 0, 0);
			if (any(10) == 0)
				schedule_play(schedule, time + 1);
		}
		schedule_finish(schedule, &(struct schedule_first){0});
		check_whole(schedule, &truth, fed[n - 1].time - fed[0].time);
		schedule_destroy(schedule);
	}
}

/* Threads that do the same all the time: each turn they run, are ready, and wait. */
enum { EVEN = 3, TURN = 10, WINDOW = 100, CYCLE = 1000, MANY = 20000, SLEEPER = EVEN };

static const struct even {
	unsigned runs, ready, end; /* moments of a turn; of the run */
} even[EVEN] = {{4, 0, MANY}, {3, 2, MANY}, {2, 5, MANY / 2 + CYCLE / 2}};

static uint64_t at(unsigned moment)
{
	return START + (uint64_t)moment * NS;
}

static void tell_moment(struct schedule *schedule, unsigned m)
{
	if (m >= CYCLE && m % CYCLE == 0)
		put(schedule, SCHEDULE_WINDOW, at(m), 0, 0);
	else if (m >= CYCLE && m % CYCLE == WINDOW)
		put(schedule, SCHEDULE_GAP, at(m), 0, 0);
	const bool seen = m < CYCLE || m % CYCLE < WINDOW;
	for (unsigned t = 0; t < EVEN; t++) {
		const unsigned turn = (m + 3 * t) % TURN;
		if (m == even[t].end)
			put(schedule, SCHEDULE_END, at(m), tid_of((int)t), 0);
		if (!seen || m >= even[t].end)
			continue;
		if (turn == 0)
			put(schedule, SCHEDULE_RUNS, at(m), tid_of((int)t), 0);
		else if (even[t].ready && turn == even[t].runs)
			put(schedule, SCHEDULE_READY, at(m), tid_of((int)t), 0);
		else if (!even[t].ready && turn == even[t].runs)
			put(schedule, SCHEDULE_WAITS, at(m), tid_of((int)t), 0);
	}
}

static void check_near(uint64_t is, double wanted, double of)
{
	cr_assert((double)is > wanted - 0.02 * of && (double)is < wanted + 0.02 * of,
		  "%.0f is not %.0f of %.0f", (double)is, wanted, of);
}

/* Who is preempted is ready for the rest of its turn, who is not waits. */
static void check_even(const struct schedule_thread *thread, const struct even *of)
{
	const double life = (double)of->end * NS, turns = (double)of->end / TURN;
	const double ran = life * of->runs / TURN;
	check_near(thread->ran_ns, ran, life);
	check_near(of->ready ? thread->ready_ns : thread->waited_ns, life - ran, life);
	check_near(of->ready ? thread->involuntary : thread->voluntary, turns, turns);
	check_near(of->ready ? thread->preempted_ns : 0, of->ready ? life - ran : 0, life);
}

Test(schedule_gaps, who_does_the_same_all_the_time_has_done_it_in_gaps)
{
	struct schedule *schedule = schedule_create();
	const uint32_t wait = schedule_add_wait(schedule);
	double ran = 0;
	uint64_t busy = 0, strip = 0;
	size_t n;
	for (int t = 0; t <= SLEEPER; t++)
		put(schedule, SCHEDULE_BEGIN, at(0), tid_of(t), 0);
	put(schedule, SCHEDULE_WAIT_SAMPLE, at(5), tid_of(SLEEPER), wait);
	put(schedule, SCHEDULE_WAITS, at(5), tid_of(SLEEPER), 0);
	for (unsigned m = 1; m <= MANY; m++) {
		tell_moment(schedule, m);
		if (m % 77 == 0)
			schedule_play(schedule, at(m));
	}
	put(schedule, SCHEDULE_END, at(MANY), tid_of(SLEEPER), 0);
	schedule_finish(schedule, &(struct schedule_first){0});
	const struct schedule_thread *threads = schedule_threads(schedule, &n);
	cr_assert_eq(n, EVEN + 1);
	for (unsigned t = 0; t < EVEN; t++) {
		check_even(&threads[t], &even[t]);
		ran += (double)threads[t].ran_ns;
	}
	/* who sleeps does so through all gaps, in one wait */
	cr_assert_eq(threads[SLEEPER].waited_ns, (MANY - 5) * NS);
	cr_assert_eq(threads[SLEEPER].ran_ns, 5 * NS);
	cr_assert_eq(schedule_get_wait(schedule, wait)->time_ns, (MANY - 5) * NS);
	const struct schedule_sums *sums = schedule_get_sums(schedule);
	for (size_t k = 0; k < sums->n_running; k++)
		busy += k * sums->running_ns[k];
	for (size_t i = 0; i < SCHEDULE_STRIP; i++)
		strip += sums->busy_ns[i];
	check_near(busy, ran, ran);
	check_near(strip, ran, ran);
	schedule_destroy(schedule);
}

/* In a gap, too, the kernel's sums are what a thread did: here it does nothing more. */
Test(schedule_gaps, the_kernel_knows_better)
{
	struct schedule *schedule = schedule_create();
	size_t n;
	uint64_t ran = 0;
	put(schedule, SCHEDULE_BEGIN, at(0), tid_of(0), 0);
	put(schedule, SCHEDULE_WINDOW, at(0), 0, 0);
	for (unsigned m = 1; m < WINDOW; m++) {
		put(schedule, m % 2 ? SCHEDULE_WAITS : SCHEDULE_RUNS, at(m), tid_of(0), 0);
		ran += m % 2 ? NS : 0;
	}
	put(schedule, SCHEDULE_GAP, at(WINDOW), 0, 0);
	for (unsigned m = WINDOW + 10; m < CYCLE; m += 10)
		cr_assert(schedule_told(schedule, 7, tid_of(0), at(m) - 1, at(m),
					&(struct kernel_sums){ran, 0}));
	put(schedule, SCHEDULE_END, at(CYCLE), tid_of(0), 0);
	schedule_finish(schedule, &(struct schedule_first){0});
	const struct schedule_thread *thread = schedule_threads(schedule, &n);
	cr_assert_eq(n, 1);
	cr_assert(thread->ran_ns <= ran + 10 * NS, "%lu of %lu", (unsigned long)thread->ran_ns,
		  (unsigned long)ran);
	cr_assert_geq(thread->ran_ns, ran);
	schedule_destroy(schedule);
}

/* One of two that switch ends early in a gap, the other one goes on, and a third one sleeps: by the
 * clock, too, as many run as there are. */
Test(schedule_gaps, who_has_ended_runs_no_more)
{
	struct schedule *schedule = schedule_create();
	uint64_t busy = 0, ran = 0;
	size_t n;
	put(schedule, SCHEDULE_BEGIN, at(0), tid_of(0), 0);
	put(schedule, SCHEDULE_BEGIN, at(0), tid_of(1), 0);
	put(schedule, SCHEDULE_BEGIN, at(0), tid_of(2), 0);
	put(schedule, SCHEDULE_WAITS, at(0), tid_of(1), 0);
	put(schedule, SCHEDULE_WINDOW, at(0), 0, 0);
	for (unsigned m = 1; m < WINDOW; m++)
		for (int t = 0; t <= 2; t += 2)
			put(schedule, m % 2 ? SCHEDULE_WAITS : SCHEDULE_RUNS, at(m), tid_of(t), 0);
	put(schedule, SCHEDULE_GAP, at(WINDOW), 0, 0);
	put(schedule, SCHEDULE_END, at(2 * WINDOW), tid_of(0), 0);
	put(schedule, SCHEDULE_END, at(CYCLE / 2), tid_of(2), 0);
	put(schedule, SCHEDULE_END, at(CYCLE), tid_of(1), 0);
	schedule_finish(schedule, &(struct schedule_first){0});
	const struct schedule_thread *threads = schedule_threads(schedule, &n);
	for (size_t i = 0; i < n; i++)
		ran += threads[i].ran_ns;
	const struct schedule_sums *sums = schedule_get_sums(schedule);
	for (size_t k = 0; k < sums->n_running; k++)
		busy += k * sums->running_ns[k];
	check_near(ran, (WINDOW + CYCLE / 4) * NS, (WINDOW + CYCLE / 4) * NS);
	check_near(busy, (double)ran, (double)ran);
	schedule_destroy(schedule);
}
