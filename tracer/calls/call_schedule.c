/* Turns breakpoints on and off by what they cost. */
#include "tracer/calls/call_schedule.h"

#include <math.h>

#define SHORTEST_NS 500000 /* a window that rfprof's thread can keep */
#define LOOK_NS 20000000   /* while they are on all the time */
/* The golden section: places in cycles that come evenly and in no rhythm of the program's. */
#define GOLDEN 0.6180339887498949
/* Of calls that are ten times as long as one hit takes (report/rows/kernel_sums.c), two of which
 * come with each of them. */
#define RATE_OF_SHORT (2.0 / 12)
/* Of what was known of the rate before, in each cycle. */
#define KEPT 0.5

void call_schedule_begin(struct call_schedule *schedule, double hit_ns, uint64_t now)
{
	*schedule = (struct call_schedule){.hit_ns = hit_ns,
					   .is_whole = true,
					   .is_on = true,
					   .purse_ns = CALL_AT_ONCE_NS,
					   .begin = now,
					   .cycle_ns = CALL_CYCLE_NS,
					   .turned = now};
}

static void note_rate(struct call_schedule *schedule, const struct call_load *load, double spent_ns)
{
	const double rate = fmin(spent_ns / fmax((double)load->ran_ns, 1), 1);
	const bool knows = !schedule->is_whole && schedule->n_cycles;
	if (knows && !load->hits && load->ran_ns < CALL_LEAST_RAN_NS)
		return;
	schedule->rate = knows ? KEPT * schedule->rate + (1 - KEPT) * rate : rate;
}

static void begin_cycle(struct call_schedule *schedule, uint64_t now)
{
	const double place = fmod(GOLDEN * ++schedule->n_cycles, 1);
	schedule->cycle_ns = schedule->rate > RATE_OF_SHORT ? CALL_RARE_CYCLE_NS : CALL_CYCLE_NS;
	const double cycle = (double)CALL_CYCLE_NS;
	const double length = fmax(CALL_WINDOW_SHARE / schedule->rate * cycle, SHORTEST_NS);
	schedule->begin = now;
	schedule->on = now + (uint64_t)(place * ((double)schedule->cycle_ns - length));
	schedule->off = schedule->on + (uint64_t)length;
}

/* On all the time: false: that costs too much. */
static bool stays_whole(struct call_schedule *schedule, uint64_t now, const struct call_load *load,
			double spent_ns)
{
	const double left = schedule->purse_ns + CALL_MOST_SHARE * (double)load->ran_ns - spent_ns;
	if (left >= 0 && now - schedule->turned < CALL_CYCLE_NS)
		return true;
	schedule->purse_ns = fmin(left, CALL_AT_ONCE_NS);
	if (left >= 0) {
		schedule->turned = now;
		return true;
	}
	note_rate(schedule, load, spent_ns);
	schedule->rate = fmax(schedule->rate, CALL_WINDOW_SHARE);
	schedule->is_whole = false;
	begin_cycle(schedule, now);
	return false;
}

bool call_schedule_step(struct call_schedule *schedule, uint64_t now, const struct call_load *load)
{
	const double spent_ns = (double)load->hits * schedule->hit_ns;
	if (schedule->is_on && schedule->is_whole) {
		schedule->is_on = stays_whole(schedule, now, load, spent_ns);
	} else if (schedule->is_on) {
		schedule->is_on = now < schedule->off && spent_ns <= CALL_AT_ONCE_NS;
		if (!schedule->is_on) {
			note_rate(schedule, load, spent_ns);
			schedule->off = now;
		}
	} else {
		schedule->is_whole = now >= schedule->begin + schedule->cycle_ns &&
				     schedule->rate <= CALL_WINDOW_SHARE;
		if (now >= schedule->begin + schedule->cycle_ns && !schedule->is_whole)
			begin_cycle(schedule, now);
		schedule->is_on =
			schedule->is_whole || (now >= schedule->on && now < schedule->off);
		schedule->purse_ns = schedule->is_whole ? CALL_AT_ONCE_NS : 0;
		schedule->turned = schedule->is_on ? now : schedule->turned;
	}
	return schedule->is_on;
}

uint64_t call_schedule_next(const struct call_schedule *schedule, uint64_t now)
{
	if (schedule->is_on)
		return schedule->is_whole ? now + LOOK_NS : schedule->off;
	return now < schedule->on ? schedule->on : schedule->begin + schedule->cycle_ns;
}
