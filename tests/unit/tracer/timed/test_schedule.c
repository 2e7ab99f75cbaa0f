/* Schedules against a slow, obvious reference: each moment of each thread, looked at one by one. */
#include "tracer/timed/schedule.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 6, MOMENTS = 400, ROUNDS = 400, NS = 1000, START = 5000000 };
enum { GONE, RUNS, READY, WAITS };

struct truth {
	uint8_t state[THREADS][MOMENTS]; /* what each thread does from moment m to m + 1 */
	uint32_t wait[THREADS][MOMENTS]; /* the number of the sample of a wait that begins there */
};

static uint64_t seed = 1;

static unsigned any(unsigned n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(seed >> 33) % n;
}

/* Each thread is there from some moment to another, and stays in a state for a while. */
static void make_truth(struct truth *truth)
{
	memset(truth, 0, sizeof(*truth));
	for (int t = 0; t < THREADS; t++) {
		const unsigned first = t ? any(MOMENTS / 2) : 0,
			       end = first + 1 + any(MOMENTS - first);
		uint8_t state = t ? READY : RUNS; /* born ready; the first one by execve */
		for (unsigned m = first; m < end && m < MOMENTS; m++) {
			truth->state[t][m] = state;
			if (any(4))
				continue;
			/* off a processor nobody begins to wait, and who waits is not ready by a
			 * switch */
			state = state == RUNS ? (any(2) ? READY : WAITS) : RUNS;
		}
	}
}

struct fed {
	enum schedule_kind kind;
	uint64_t time;
	uint32_t tid, wait;
};

static size_t records_of(struct schedule *schedule, struct truth *truth, struct fed *out)
{
	static const enum schedule_kind kinds[] = {
		[RUNS] = SCHEDULE_RUNS, [READY] = SCHEDULE_READY, [WAITS] = SCHEDULE_WAITS};
	size_t n = 0;
	for (int m = 0; m <= MOMENTS; m++)
		for (int t = 0; t < THREADS; t++) {
			const uint8_t before = m ? truth->state[t][m - 1] : GONE;
			const uint8_t now = m < MOMENTS ? truth->state[t][m] : GONE;
			struct fed fed = {.time = START + (uint64_t)m * NS,
					  .tid = 100 + (uint32_t)t};
			if (before == now)
				continue;
			if (now == WAITS && any(3)) {
				truth->wait[t][m] = fed.wait = schedule_add_wait(schedule);
				truth->wait[t][m]++; /* 0: none */
				fed.kind = SCHEDULE_WAIT_SAMPLE;
				out[n++] = fed;
			}
			fed.kind = before == GONE ? (t ? SCHEDULE_BORN : SCHEDULE_BEGIN)
				   : now == GONE  ? SCHEDULE_END
						  : kinds[now];
			out[n++] = fed;
		}
	return n;
}

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
			cr_assert(schedule_record(schedule, f->kind, f->time, 7, f->tid, f->wait));
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
	uint64_t ns[WAITS + 1] = {0}, voluntary = 0, involuntary = 0;
	for (int m = 0; m < MOMENTS; m++) {
		const uint8_t before = m ? truth->state[t][m - 1] : GONE, now = truth->state[t][m];
		ns[now] += NS;
		voluntary += before == RUNS && now == WAITS;
		involuntary += before == RUNS && now == READY;
	}
	cr_assert_eq(thread->ran_ns, ns[RUNS]);
	cr_assert_eq(thread->ready_ns, ns[READY]);
	cr_assert_eq(thread->waited_ns, ns[WAITS]);
	cr_assert_eq(thread->voluntary, voluntary);
	cr_assert_eq(thread->involuntary, involuntary);
}

/* Each wait with a sample, and what is left of those without. */
static void check_waits(const struct schedule *schedule, const struct schedule_thread *thread,
			const struct truth *truth, int t)
{
	uint64_t unknown = 0;
	for (int m = 0; m < MOMENTS; m++) {
		uint64_t time = 0, alone = 0, others = 0;
		if (truth->state[t][m] != WAITS || (m && truth->state[t][m - 1] == WAITS))
			continue;
		for (int k = m; k < MOMENTS && truth->state[t][k] == WAITS; k++) {
			time += NS;
			alone += count(truth, k, RUNS) ? 0 : NS;
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
		schedule_finish(schedule, 0, 0);
		const struct schedule_thread *threads = schedule_threads(schedule, &n);
		for (size_t i = 0; i < n; i++) {
			check_thread(&threads[i], &truth, (int)threads[i].tid - 100);
			check_waits(schedule, &threads[i], &truth, (int)threads[i].tid - 100);
		}
		check_sums(schedule_get_sums(schedule), &truth);
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
	schedule_finish(schedule, 0, 0);
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
