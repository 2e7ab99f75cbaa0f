/* Who ran during waits, against a slow, obvious reference: each sample beside each wait. */
#include "tracer/timed/wait_runners.h"

#include "tests/unit/assert_ok.h"
#include "tests/unit/tracer/schedule/schedule_truth.h"
#include "tracer/timed/wait_rows.h"

#include <criterion/criterion.h>

enum { ROUNDS = 100, SITES = 3, PLACES = 5, SAMPLES = 600, WAITS_AT_MOST = THREADS * MOMENTS };

struct sampled {
	uint64_t time, weight;
	int thread;
	uint32_t place;
};

/* One run, and what its profile has of it: frames of waits come first, those of samples behind. */
struct played {
	struct truth truth;
	struct schedule *schedule;
	struct profile *profile;
	struct wait_rows rows;
	struct wait_runners *runners;
	uint32_t site_of_wait[WAITS_AT_MOST];
	struct sampled samples[SAMPLES];
	size_t n_samples;
};

static void begin(struct played *played)
{
	*played = (struct played){.schedule = schedule_create(), .profile = profile_create()};
	played->runners = wait_runners_create(played->schedule);
	cr_assert(played->schedule && played->profile && played->runners);
	const uint32_t module = profile_module(played->profile, "/bin/program", "");
	for (uint32_t i = 0; i < SITES + PLACES; i++)
		cr_assert_eq(profile_frame(played->profile, PROFILE_NONE, module, 16 * i), i);
}

static void end(struct played *played)
{
	wait_runners_destroy(played->runners);
	wait_rows_deinit(&played->rows);
	schedule_destroy(played->schedule);
	profile_destroy(played->profile);
}

static uint32_t thread_row(struct played *played, uint32_t pid, uint32_t tid)
{
	return profile_thread(played->profile, RUN_TIMED, (int)pid, (int)tid, "");
}

static void play_wait(struct played *played, const struct fed *fed, enum wait_cause cause)
{
	const struct profile_wait fresh = {.thread = thread_row(played, fed->pid, fed->tid),
					   .frame = played->site_of_wait[fed->wait],
					   .cause = cause};
	const uint32_t row = wait_rows_add(&played->rows, played->profile, fed->wait, &fresh);
	cr_assert(row != PROFILE_NONE);
	if (cause == WAIT_FUTEX)
		assert_ok(wait_runners_begin(played->runners, played->profile, fed->time, fed->pid,
					     fed->tid, fed->wait, row));
}

static void play_sample(struct played *played, const struct sampled *sample)
{
	const uint32_t pid = pid_of(sample->thread), tid = tid_of(sample->thread);
	const struct profile_sample row = {.thread = thread_row(played, pid, tid),
					   .time_ns = sample->time,
					   .weight_ns = sample->weight,
					   .frame = SITES + sample->place};
	assert_ok(wait_runners_sample(played->runners, played->profile, pid, tid, &row));
}

static void finish(struct played *played)
{
	schedule_finish(played->schedule, &(struct schedule_first){0});
	assert_ok(wait_rows_finish(&played->rows, played->profile, played->schedule));
	assert_ok(wait_runners_finish(played->runners, played->profile, played->rows.row_of_wait,
				      played->rows.n_row_of_wait));
}

/* Of threads that run, in the middle of moments. */
static void make_samples(struct played *played)
{
	for (int m = 0; m < MOMENTS; m++)
		for (int t = 0; t < THREADS && played->n_samples < SAMPLES; t++)
			if (played->truth.state[t][m] == RUNS && !any(2))
				played->samples[played->n_samples++] =
					(struct sampled){START + (uint64_t)m * NS + NS / 2,
							 1 + any(1000), t, any(PLACES)};
}

/* Records come first, up to some moment, or `at_once`; then waits and samples before it are played.
 */
static void play_all(struct played *played, const struct fed *fed, size_t n, bool at_once)
{
	size_t played_n = 0, samples_n = 0;
	for (size_t done = 0; done < n;) {
		const uint64_t until =
			fed[done].time + (at_once ? MOMENTS : 1 + any(40)) * NS + NS / 4;
		for (; done < n && fed[done].time < until; done++)
			cr_assert(schedule_record(played->schedule, fed[done].kind, fed[done].time,
						  fed[done].pid, fed[done].tid, fed[done].wait));
		schedule_play(played->schedule, until);
		for (;;) {
			const bool wait = played_n < done;
			const bool sample = samples_n < played->n_samples &&
					    played->samples[samples_n].time < until;
			if (sample &&
			    (!wait || played->samples[samples_n].time < fed[played_n].time))
				play_sample(played, &played->samples[samples_n++]);
			else if (wait && fed[played_n].kind == SCHEDULE_WAIT_SAMPLE)
				play_wait(played, &fed[played_n++], WAIT_FUTEX);
			else if (wait)
				played_n++;
			else
				break;
		}
	}
	for (; samples_n < played->n_samples; samples_n++)
		play_sample(played, &played->samples[samples_n]);
}

struct sums {
	uint64_t ran[SITES][PLACES], woken[SITES][PLACES], watched[SITES], quiet[SITES];
};

/* Sites are told apart by process in the profile's rows; here they are not. */
static struct sums true_sums(const struct played *played, const struct fed *fed, size_t n)
{
	struct sums sums = {0};
	for (size_t i = 0; i < n; i++) {
		if (fed[i].kind != SCHEDULE_WAIT_SAMPLE)
			continue;
		const struct schedule_wait *wait = schedule_get_wait(played->schedule, fed[i].wait);
		const uint32_t site = played->site_of_wait[fed[i].wait];
		sums.watched[site] += wait->end - wait->start;
		sums.quiet[site] += wait->quiet_end - wait->quiet_start;
		for (size_t k = 0; k < played->n_samples; k++) {
			const struct sampled *sample = &played->samples[k];
			if (pid_of(sample->thread) != fed[i].pid ||
			    tid_of(sample->thread) == fed[i].tid || sample->time < wait->start ||
			    sample->time >= wait->end)
				continue;
			sums.ran[site][sample->place] += sample->weight;
			if (wait->waker_tid == tid_of(sample->thread))
				sums.woken[site][sample->place] += sample->weight;
		}
	}
	return sums;
}

static struct sums told_sums(const struct profile *profile)
{
	struct sums sums = {0};
	for (size_t i = 0; i < profile->n_waits; i++)
		if (profile->waits[i].frame != PROFILE_NONE) /* of waits without a sample */
			sums.watched[profile->waits[i].frame] += profile->waits[i].watched_ns;
	for (size_t i = 0; i < profile->n_meanwhile; i++) {
		const struct profile_meanwhile *row = &profile->meanwhile[i];
		if (row->waited) {
			sums.quiet[row->wait_frame] += row->time_ns;
			continue;
		}
		sums.ran[row->wait_frame][row->frame - SITES] += row->time_ns;
		sums.woken[row->wait_frame][row->frame - SITES] += row->waker_ns;
	}
	return sums;
}

Test(wait_runners, are_those_beside_each_wait)
{
	static struct fed fed[THREADS * MOMENTS * 2];
	static struct played played;
	for (int round = 0; round < ROUNDS; round++) {
		begin(&played);
		make_truth(&played.truth);
		make_samples(&played);
		const size_t n = records_of(played.schedule, &played.truth, fed);
		for (size_t i = 0; i < WAITS_AT_MOST; i++)
			played.site_of_wait[i] = any(SITES);
		play_all(&played, fed, n, round % 2);
		finish(&played);
		const struct sums true_ones = true_sums(&played, fed, n);
		const struct sums told = told_sums(played.profile);
		cr_assert_arr_eq(told.ran, true_ones.ran, sizeof(told.ran));
		/* who lets a wait go on is not known before it ends */
		for (int i = 0; i < SITES * PLACES; i++)
			cr_assert(told.woken[i / PLACES][i % PLACES] <=
				  true_ones.woken[i / PLACES][i % PLACES]);
		if (round % 2)
			cr_assert_arr_eq(told.woken, true_ones.woken, sizeof(told.woken));
		cr_assert_arr_eq(told.watched, true_ones.watched, sizeof(told.watched));
		for (int i = 0; i < SITES;
		     i++) /* what wakers without a sample waited is not told */
			cr_assert(told.quiet[i] <= true_ones.quiet[i]);
		end(&played);
	}
}

/* A thread of the scenario below does this from `time` on. */
static void step(struct played *played, enum schedule_kind kind, uint64_t time, int t)
{
	cr_assert(schedule_record(played->schedule, kind, time, 7, tid_of(t), 0));
}

/* It begins to wait, at a site. */
static void wait_at(struct played *played, uint64_t time, int t, uint32_t site,
		    enum wait_cause cause)
{
	const struct fed fed = {SCHEDULE_WAIT_SAMPLE, time, 7, tid_of(t),
				schedule_add_wait(played->schedule)};
	cr_assert(schedule_record(played->schedule, fed.kind, time, 7, fed.tid, fed.wait));
	step(played, SCHEDULE_WAITS, time, t);
	played->site_of_wait[fed.wait] = site;
	schedule_play(played->schedule, time + 1);
	play_wait(played, &fed, cause);
}

/* Time in which nobody ran while threads waited at a site, by where who held them up waited. */
static uint64_t held_up(const struct profile *profile, uint32_t site, uint32_t in)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < profile->n_meanwhile; i++)
		if (profile->meanwhile[i].waited && profile->meanwhile[i].wait_frame == site &&
		    profile->meanwhile[i].frame == in)
			sum += profile->meanwhile[i].time_ns;
	return sum;
}

/* The first thread waits for the second one (site 0), which waits for the third one (site 1), which
 * sleeps (site 2) from 100 to 200 us and from 250 to 400: that is where all of it comes from. */
Test(wait_runners, holders_that_sleep_are_found)
{
	static struct played played;
	begin(&played);
	for (int t = 0; t < 3; t++)
		step(&played, SCHEDULE_BEGIN, START, t);
	wait_at(&played, START + 10 * NS, 0, 0, WAIT_FUTEX);
	wait_at(&played, START + 20 * NS, 1, 1, WAIT_FUTEX);
	wait_at(&played, START + 100 * NS, 2, 2, WAIT_SLEEP);
	step(&played, SCHEDULE_RUNS, START + 200 * NS, 2);
	wait_at(&played, START + 250 * NS, 2, 2, WAIT_SLEEP);
	step(&played, SCHEDULE_RUNS, START + 400 * NS, 2);
	step(&played, SCHEDULE_RUNS, START + 410 * NS, 1);
	step(&played, SCHEDULE_END, START + 420 * NS, 2);
	step(&played, SCHEDULE_RUNS, START + 430 * NS, 0);
	step(&played, SCHEDULE_END, START + 440 * NS, 0);
	step(&played, SCHEDULE_END, START + 450 * NS, 1);
	finish(&played);
	cr_assert_eq(held_up(played.profile, 1, 2), 250 * NS);
	cr_assert_eq(held_up(played.profile, 0, 2), 250 * NS);
	cr_assert_eq(held_up(played.profile, 0, 1) + held_up(played.profile, 0, PROFILE_NONE), 0);
	end(&played);
}
