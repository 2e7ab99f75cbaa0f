/* Schedules against a slow, obvious reference: each moment of each thread, looked at one by one. */
#include "tests/unit/tracer/schedule/schedule_truth.h"
#include "tracer/schedule/schedule.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 400, WAKE_NS = 5000 };

/* In any order among those that have not been played, but that of one moment stays. */
static void feed(struct schedule *schedule, struct fed *fed, size_t n)
{
	for (size_t done = 0; done < n;) {
		size_t part = 1 + any(40);
		part = part < n - done ? part : n - done;
		while (done + part < n && fed[done + part].time == fed[done + part - 1].time)
			part++;
		for (size_t i = part - 1; i > 0; i--) {
			const size_t j = any((unsigned)i + 1);
			if (fed[done + i].time == fed[done + j].time)
				continue;
			bool alone = true; /* of its moment */
			for (size_t k = 0; k < part; k++)
				alone &= k == i || k == j ||
					 (fed[done + k].time != fed[done + i].time &&
					  fed[done + k].time != fed[done + j].time);
			if (!alone)
				continue;
			const struct fed kept = fed[done + i];
			fed[done + i] = fed[done + j];
			fed[done + j] = kept;
		}
		uint64_t last = 0;
		for (size_t i = 0; i < part; i++) {
			const struct fed *f = &fed[done + i];
			last = f->time > last ? f->time : last;
			cr_assert(schedule_record(schedule, f->kind, f->time, f->pid, f->tid,
						  f->wait));
		}
		done += part;
		if (any(2))
			schedule_play(schedule, last + 1);
	}
}

static size_t count(const struct truth *truth, int m, uint8_t state)
{
	size_t n = 0;
	for (int t = 0; t < THREADS; t++)
		n += truth->state[t][m] == state;
	return n;
}

static void check_thread(const struct schedule_thread *thread, const struct truth *truth, int t)
{
	uint64_t ns[WAITS + 1] = {0}, voluntary = 0, involuntary = 0, preempted = 0;
	bool has_lost = false;
	for (int m = 0; m < MOMENTS; m++) {
		const uint8_t before = m ? truth->state[t][m - 1] : GONE, now = truth->state[t][m];
		ns[now] += NS;
		voluntary += before == RUNS && now == WAITS;
		involuntary += before == RUNS && now == READY;
		has_lost = now == READY && (before == RUNS || (before == READY && has_lost));
		preempted += has_lost ? NS : 0;
	}
	cr_assert_eq(thread->ran_ns, ns[RUNS]);
	cr_assert_eq(thread->ready_ns, ns[READY]);
	cr_assert_eq(thread->waited_ns, ns[WAITS]);
	cr_assert_eq(thread->voluntary, voluntary);
	cr_assert_eq(thread->involuntary, involuntary);
	cr_assert_eq(thread->preempted_ns, preempted);
}

/* Whether thread u is in a state just before moment m's record of thread t: those of a moment come
 * in the order of their threads. */
static bool is_beside(const struct truth *truth, int u, int m, int t, uint8_t state)
{
	const int at = u < t ? m : m - 1;
	return at >= 0 && truth->state[u][at] == state;
}

/* The last moment up to m, in that order, at which thread u left a state; -1: it never did. */
static int left(const struct truth *truth, int u, int m, int t, uint8_t state)
{
	for (int k = u < t ? m : m - 1; k > 0; k--)
		if (truth->state[u][k - 1] == state && truth->state[u][k] != state)
			return k;
	return -1;
}

/* The number of the sample of the wait of thread u that ended at moment m. */
static uint32_t wait_that_ended(const struct truth *truth, int u, int m)
{
	if (m < 0)
		return SCHEDULE_NO_WAIT;
	while (m > 1 && truth->state[u][m - 2] == WAITS)
		m--;
	return truth->wait[u][m - 1] ? truth->wait[u][m - 1] - 1 : SCHEDULE_WAIT_UNSEEN;
}

/* Who let the wait of thread t go on that began at `first` and ended at m. */
static void check_waker(const struct schedule_wait *wait, const struct truth *truth, int t,
			int first, int m)
{
	int n = 0, waker = -1, latest = 0;
	for (int u = 0; u < THREADS; u++)
		if (u != t && pid_of(u) == pid_of(t) && is_beside(truth, u, m, t, RUNS)) {
			n++;
			waker = u;
		}
	const int running = n == 1 ? waker : -1;
	waker = -1;
	for (int u = 0; u < THREADS; u++) {
		const int stopped = left(truth, u, m, t, RUNS);
		if (stopped >= 0 && pid_of(u) == pid_of(t) &&
		    (stopped > latest || (stopped == latest && u > waker))) {
			latest = stopped;
			waker = u;
		}
	}
	/* beside one that runs: one that has just stopped may have been the waker as well */
	const bool just_stopped =
		waker >= 0 && !is_beside(truth, waker, m, t, RUNS) && (m - latest) * NS < WAKE_NS;
	if (n > 1 || (n == 1 && just_stopped) || (n == 0 && waker == t))
		waker = -1;
	else if (n == 1)
		waker = running;
	cr_assert_eq(wait->waker_tid, waker < 0 ? 0 : tid_of(waker));
	const int ended = waker < 0 ? -1 : left(truth, waker, m, t, WAITS);
	cr_assert_eq(wait->waker_wait, wait_that_ended(truth, waker, ended > first ? ended : -1));
	cr_assert_eq(wait->before, wait_that_ended(truth, t, left(truth, t, first, t, WAITS)));
}

/* Each wait with a sample, and what is left of those without. */
static void check_waits(const struct schedule *schedule, const struct schedule_thread *thread,
			const struct truth *truth, int t)
{
	uint64_t unknown = 0;
	for (int m = 0; m < MOMENTS; m++) {
		uint64_t time = 0, alone = 0, others = 0, quiet = 0;
		if (truth->state[t][m] != WAITS || (m && truth->state[t][m - 1] == WAITS))
			continue;
		int k = m;
		for (; k < MOMENTS && truth->state[t][k] == WAITS; k++) {
			time += NS;
			alone += count(truth, k, RUNS) ? 0 : NS;
			quiet += count(truth, k, RUNS) || count(truth, k, READY) ? 0 : NS;
			others += count(truth, k, RUNS) * NS;
		}
		if (!truth->wait[t][m]) {
			unknown += time;
			continue;
		}
		const struct schedule_wait *wait =
			schedule_get_wait(schedule, truth->wait[t][m] - 1);
		cr_assert(wait && wait->time_ns == time && wait->alone_ns == alone &&
			  wait->others_ns == others);
		cr_assert_eq(wait->quiet_end - wait->quiet_start, quiet);
		cr_assert_eq(wait->start, START + (uint64_t)m * NS);
		cr_assert_eq(wait->end, START + (uint64_t)k * NS);
		if (k < MOMENTS)
			check_waker(wait, truth, t, m, k);
	}
	cr_assert_eq(thread->unknown_ns, unknown);
}

static void check_sums(const struct schedule_sums *sums, const struct truth *truth)
{
	uint64_t running[THREADS + 1] = {0}, ready = 0, busy = 0, strip = 0;
	int end = MOMENTS;
	while (end > 0 && count(truth, end - 1, GONE) == THREADS)
		end--;
	for (int m = 0; m < end; m++) {
		const size_t n = count(truth, m, RUNS);
		running[n] += NS;
		busy += n * NS;
		ready += n == 0 && count(truth, m, READY) ? NS : 0;
	}
	for (size_t i = 0; i <= THREADS; i++)
		cr_assert_eq(i < sums->n_running ? sums->running_ns[i] : 0, running[i]);
	for (size_t i = 0; i < SCHEDULE_STRIP; i++)
		strip += sums->busy_ns[i];
	cr_assert_eq(sums->idle_ready_ns, ready);
	cr_assert_eq(strip, busy);
}

Test(schedule, is_what_each_moment_says)
{
	static struct fed fed[THREADS * MOMENTS * 2];
	static struct truth truth;
	for (int round = 0; round < ROUNDS; round++) {
		struct schedule *schedule = schedule_create();
		size_t n;
		cr_assert(schedule);
		make_truth(&truth);
		feed(schedule, fed, records_of(schedule, &truth, fed));
		schedule_finish(schedule, &(struct schedule_first){0});
		const struct schedule_thread *threads = schedule_threads(schedule, &n);
		for (size_t i = 0; i < n; i++) {
			check_thread(&threads[i], &truth, (int)threads[i].tid - 100);
			check_waits(schedule, &threads[i], &truth, (int)threads[i].tid - 100);
		}
		check_sums(schedule_get_sums(schedule), &truth);
		schedule_destroy(schedule);
	}
}

/* Of each switch so many ns are in no record. */
enum { HIDDEN = 40 };

static uint64_t sum_until(const struct truth *truth, int t, int end, uint8_t state)
{
	uint64_t ns = 0;
	for (int m = 0; m < end; m++)
		ns += truth->state[t][m] == state ? NS : 0;
	return ns;
}

static uint64_t switches_until(const struct truth *truth, int t, int end)
{
	uint64_t n = 0;
	for (int m = 1; m < end; m++)
		n += truth->state[t][m] == RUNS && truth->state[t][m - 1] != RUNS &&
		     truth->state[t][m - 1] != GONE;
	return n;
}

/* Ready is what it was; what ran longer was ready or waiting by the records. */
static void check_told(const struct schedule_thread *thread, const struct truth *truth, int t)
{
	const uint64_t hidden = HIDDEN * switches_until(truth, t, MOMENTS);
	const uint64_t off =
		sum_until(truth, t, MOMENTS, READY) + sum_until(truth, t, MOMENTS, WAITS);
	const uint64_t ran = sum_until(truth, t, MOMENTS, RUNS);
	const uint64_t more = thread->ran_ns - ran;
	cr_assert(thread->ran_ns >= ran);
	/* nobody may have been looked at */
	cr_assert(more <= hidden + 2 && (more + 2 >= (hidden < off ? hidden : off) || more == 0));
	cr_assert_eq(thread->ran_ns + thread->ready_ns + thread->waited_ns, ran + off);
	cr_assert(thread->ready_ns <= sum_until(truth, t, MOMENTS, READY) + 2);
}

/* The kernel's sums of all threads in the middle of moment m; of those that run as they began to.
 */
static void tell_all(struct schedule *schedule, const struct truth *truth, int m)
{
	const uint64_t time = START + (uint64_t)m * NS + NS / 2;
	for (int t = 0; t < THREADS; t++) {
		const uint8_t state = truth->state[t][m];
		int until = m + 1;
		while (until > 0 && state != WAITS && truth->state[t][until - 1] == state)
			until--;
		const struct kernel_sums sums = {sum_until(truth, t, until, RUNS) +
							 HIDDEN * switches_until(truth, t, until),
						 sum_until(truth, t, until, READY)};
		if (state != GONE)
			cr_assert(schedule_told(schedule, pid_of(t), tid_of(t), time - NS / 4, time,
						&sums));
	}
}

/* What was told of a moment is taken at that moment, whenever the records before it come. */
Test(schedule, what_the_kernel_tells_has_its_moment)
{
	static struct fed fed[THREADS * MOMENTS * 2];
	static struct truth truth;
	for (int round = 0; round < ROUNDS; round++) {
		struct schedule *schedule = schedule_create();
		size_t n, n_fed, done = 0;
		make_truth(&truth);
		n_fed = records_of(schedule, &truth, fed);
		for (int m = 0; m < MOMENTS; m++) {
			const bool told = any(20) == 0, late = any(2);
			if (told && !late)
				tell_all(schedule, &truth, m);
			for (; done < n_fed && fed[done].time <= START + (uint64_t)m * NS; done++)
				cr_assert(schedule_record(schedule, fed[done].kind, fed[done].time,
							  fed[done].pid, fed[done].tid,
							  fed[done].wait));
			if (told && late)
				tell_all(schedule, &truth, m);
			if (any(10) == 0)
				schedule_play(schedule, START + (uint64_t)m * NS + 1);
		}
		for (; done < n_fed; done++)
			cr_assert(schedule_record(schedule, fed[done].kind, fed[done].time,
						  fed[done].pid, fed[done].tid, fed[done].wait));
		schedule_finish(schedule, &(struct schedule_first){0});
		const struct schedule_thread *threads = schedule_threads(schedule, &n);
		for (size_t i = 0; i < n; i++)
			check_told(&threads[i], &truth, (int)threads[i].tid - 100);
		schedule_destroy(schedule);
	}
}

/* A run that is longer than its slices keeps all of its time. */
Test(schedule, slices_widen)
{
	struct schedule *schedule = schedule_create();
	const uint64_t second = 1000000000;
	cr_assert(schedule_record(schedule, SCHEDULE_BEGIN, second, 1, 1, 0));
	cr_assert(schedule_record(schedule, SCHEDULE_WAITS, 40 * second, 1, 1, 0));
	cr_assert(schedule_record(schedule, SCHEDULE_RUNS, 90 * second, 1, 1, 0));
	cr_assert(schedule_record(schedule, SCHEDULE_END, 100 * second, 1, 1, 0));
	schedule_finish(schedule, &(struct schedule_first){0});
	const struct schedule_sums *sums = schedule_get_sums(schedule);
	uint64_t first = 0, all = 0;
	for (size_t i = 0; i < SCHEDULE_STRIP; i++) {
		all += sums->busy_ns[i];
		first += (i + 1) * sums->slice_ns <= 39 * second ? sums->busy_ns[i] : 0;
	}
	cr_assert_eq(all, 49 * second);
	cr_assert(first <= 39 * second && first + sums->slice_ns > 39 * second);
	schedule_destroy(schedule);
}

/* What a part of the run has, moment by moment; begun late or at once. */
static void check_part(const struct schedule *schedule, const struct truth *truth, int from,
		       int until)
{
	size_t n;
	const struct schedule_thread *threads = schedule_threads(schedule, &n);
	uint64_t running[THREADS + 1] = {0};
	for (size_t i = 0; i < n; i++) {
		uint64_t ns[WAITS + 1] = {0}, waited = 0;
		const int t = (int)threads[i].tid - 100;
		for (int m = from; m < until; m++)
			ns[truth->state[t][m]] += NS;
		cr_assert_eq(threads[i].ran_ns, ns[RUNS]);
		cr_assert_eq(threads[i].ready_ns, ns[READY]);
		cr_assert_eq(threads[i].waited_ns, ns[WAITS]);
		for (int m = 0; m < MOMENTS; m++)
			if (truth->wait[t][m])
				waited +=
					schedule_get_wait(schedule, truth->wait[t][m] - 1)->time_ns;
		cr_assert_eq(waited + threads[i].unknown_ns, ns[WAITS]);
	}
	for (int m = from; m < until; m++)
		running[count(truth, m, RUNS)] += NS;
	const struct schedule_sums *sums = schedule_get_sums(schedule);
	for (size_t i = 1; i <= THREADS; i++) /* 0: it may end before the part does */
		cr_assert_eq(i < sums->n_running ? sums->running_ns[i] : 0, running[i]);
}

Test(schedule, a_part_has_what_its_moments_say)
{
	static struct fed fed[THREADS * MOMENTS * 2];
	static struct truth truth;
	for (int round = 0; round < ROUNDS; round++) {
		struct schedule *schedule = schedule_create();
		const int from = (int)any(MOMENTS),
			  until = from + (int)any(MOMENTS - (unsigned)from);
		cr_assert(schedule);
		make_truth(&truth);
		schedule_clip(schedule, START + (uint64_t)from * NS, START + (uint64_t)until * NS);
		feed(schedule, fed, records_of(schedule, &truth, fed));
		schedule_finish(schedule, &(struct schedule_first){0});
		check_part(schedule, &truth, from, until);
		schedule_destroy(schedule);
	}
}
