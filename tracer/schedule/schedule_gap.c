/* Lets threads go on through gaps as they did in the window before. */
#include "tracer/schedule/schedule_gap.h"

/* A thread that was switched to less often in a window stays as it was through the gap behind it:
 * as a sleeping one does. */
enum { LEAST_SWITCHES = 8 };

/* All that it did until now. */
static struct schedule_deeds deeds_until(const struct live *thread, uint64_t now)
{
	const struct schedule_thread *sums = &thread->sums;
	struct schedule_deeds deeds = {
		.ran_ns = sums->ran_ns,
		.ready_ns = sums->ready_ns,
		.waited_ns = sums->waited_ns,
		.preempted_ns = sums->preempted_ns,
		.voluntary = sums->voluntary,
		.involuntary = sums->involuntary,
		.switches = thread->switches,
	};
	const uint64_t ns = now - thread->since;
	deeds.ran_ns += thread->state == RUNNING ? ns : 0;
	deeds.ready_ns += thread->state == READY ? ns : 0;
	deeds.preempted_ns += thread->state == READY && thread->is_preempted ? ns : 0;
	deeds.waited_ns += thread->state == WAITING ? ns : 0;
	return deeds;
}

static struct schedule_deeds deeds_since(const struct live *thread, uint64_t now)
{
	const struct schedule_deeds *mark = &thread->mark;
	struct schedule_deeds deeds = deeds_until(thread, now);
	deeds.ran_ns -= mark->ran_ns;
	deeds.ready_ns -= mark->ready_ns;
	deeds.waited_ns -= mark->waited_ns;
	deeds.preempted_ns -= mark->preempted_ns;
	deeds.voluntary -= mark->voluntary;
	deeds.involuntary -= mark->involuntary;
	deeds.switches -= mark->switches;
	return deeds;
}

static uint64_t part_of(uint64_t deed, double factor)
{
	return (uint64_t)((double)deed * factor);
}

static uint64_t life_of(const struct schedule_deeds *deeds)
{
	return deeds->ran_ns + deeds->ready_ns + deeds->waited_ns;
}

/* How much of the time it ran. */
static double rate_of(const struct schedule_deeds *deeds)
{
	return (double)deeds->ran_ns / (double)life_of(deeds);
}

void schedule_add_deeds(struct schedule *schedule, struct live *thread)
{
	const struct schedule_deeds *deeds = &thread->deeds;
	const uint64_t ns = schedule->now - thread->since;
	const double factor = (double)ns / (double)life_of(deeds),
		     of_window = 1 / (double)schedule->window_ns;
	const uint64_t ran = schedule_lesser(part_of(deeds->ran_ns, factor), ns);
	const uint64_t ready = schedule_lesser(part_of(deeds->ready_ns, factor), ns - ran);
	const uint64_t waited = ns - ran - ready;
	struct schedule_thread *sums = &thread->sums;
	thread->since = schedule->now;
	sums->ran_ns += ran;
	sums->ready_ns += ready;
	sums->waited_ns += waited;
	sums->preempted_ns += part_of(deeds->preempted_ns, factor);
	sums->voluntary += part_of(deeds->voluntary, factor);
	sums->involuntary += part_of(deeds->involuntary, factor);
	sums->unknown_ns += waited;
	sums->unknown_alone_ns +=
		part_of(waited, (double)schedule->window_clock.idle_ns * of_window);
	sums->unknown_others_ns +=
		part_of(waited, (double)schedule->window_clock.busy_ns * of_window);
	thread->switches += part_of(deeds->switches, factor);
	thread->last_wait = SCHEDULE_WAIT_UNSEEN;
	thread->last_wait_end = schedule->now;
}

void schedule_leave_gap(struct schedule *schedule, struct live *thread)
{
	schedule_add_deeds(schedule, thread);
	thread->in_gap = false;
	schedule->gap_ran -= rate_of(&thread->deeds);
}

/* For such a part of the time all was as in the window, for the rest only what stays as it was is
 * there: so that on average as many threads run as by their own accounts. */
static double part_as_in_window(const struct schedule *schedule)
{
	const double busy = (double)schedule->window_clock.busy_ns / (double)schedule->window_ns;
	const double more = busy - (double)schedule->n_in[RUNNING];
	if (schedule->gap_ran <= 0)
		return 0;
	return more > schedule->gap_ran ? schedule->gap_ran / more : 1;
}

uint64_t schedule_advance_gap(struct schedule *schedule, uint64_t time)
{
	const uint64_t until =
		schedule->now + part_of(time - schedule->now, part_as_in_window(schedule));
	const double factor = (double)(until - schedule->now) / (double)schedule->window_ns;
	const struct schedule_clock *added = &schedule->window_clock;
	schedule_sums_repeat(&schedule->sums, schedule->now, until, schedule->window_ns);
	schedule->clock.idle_ns += part_of(added->idle_ns, factor);
	schedule->clock.busy_ns += part_of(added->busy_ns, factor);
	schedule->clock.quiet_ns += part_of(added->quiet_ns, factor);
	return until;
}

/* Its state goes on from now on as if it began, but for that of who stays as it was. */
static void go_on(struct schedule *schedule, struct live *thread)
{
	const bool is_preempted = thread->is_preempted;
	schedule_enter(schedule, thread, thread->state);
	thread->is_preempted = is_preempted;
}

void schedule_begin_window(struct schedule *schedule)
{
	for (size_t i = 0; i < schedule->n_threads; i++) {
		struct live *thread = &schedule->threads[i];
		if (thread->in_gap)
			go_on(schedule, thread);
		if (thread->state != GONE)
			thread->mark = deeds_until(thread, schedule->now);
	}
	schedule->window_ns = 0;
	schedule->window = schedule->now;
	schedule->window_clock = schedule->clock;
	schedule_sums_begin_window(&schedule->sums);
}

void schedule_begin_gap(struct schedule *schedule)
{
	if (!schedule->window || schedule->window_ns || schedule->now <= schedule->window ||
	    !schedule_sums_end_window(&schedule->sums))
		return;
	struct schedule_clock *clock = &schedule->window_clock;
	clock->idle_ns = schedule->clock.idle_ns - clock->idle_ns;
	clock->busy_ns = schedule->clock.busy_ns - clock->busy_ns;
	clock->quiet_ns = schedule->clock.quiet_ns - clock->quiet_ns;
	schedule->window_ns = schedule->now - schedule->window;
	schedule->gap_ran = 0;
	for (size_t i = 0; i < schedule->n_threads; i++) {
		struct live *thread = &schedule->threads[i];
		if (thread->state == GONE)
			continue;
		thread->deeds = deeds_since(thread, schedule->now);
		if (thread->deeds.switches < LEAST_SWITCHES || !life_of(&thread->deeds))
			continue;
		go_on(schedule, thread);
		thread->in_gap = true;
		schedule->n_in[thread->state]--;
		schedule->gap_ran += rate_of(&thread->deeds);
	}
}
