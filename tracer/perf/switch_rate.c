/* Switches to the program's threads on a processor, over some milliseconds. */
#include "tracer/perf/switch_rate.h"

/* The shortest time in which a rate is told. */
#define LEAST_NS 8000000

/* Switches a second.  A timer was seen to take 12 us of each in a virtual machine, where it ends
 * the guest's turn: 3,000 of them are 4 % of the time. */
enum { OFTEN = 3000, SELDOM = 1500 };

/* The two records of a switch and what samples its stack were seen to take 0.4 us: 2 % of the time
 * of a processor. */
enum { VERY_OFTEN = 50000, LESS_OFTEN = 30000 };
enum { WINDOW_NS = 5000000, GAP_NS = 85000000 };

/* A process that is started and ends at once has some five. */
enum { SWITCHES_OF_A_LIFE = 20 };

void switch_rate_add(struct switch_rate *rate, const struct perf_record *record)
{
	if (record->type == PERF_RECORD_SWITCH)
		rate->switches += !(record->misc & PERF_RECORD_MISC_SWITCH_OUT);
	else if (record->type == PERF_RECORD_FORK)
		rate->births++;
}

bool switch_rate_is_high(struct switch_rate *rate, uint64_t now)
{
	const uint64_t ns = now - rate->since;
	if (rate->since && ns < LEAST_NS)
		return rate->often;
	const double a_second = (double)rate->switches * 1e9 / (double)ns;
	rate->often = rate->since && a_second > (rate->often ? SELDOM : OFTEN) &&
		      rate->switches >= SWITCHES_OF_A_LIFE * rate->births;
	rate->a_second = rate->often ? a_second : 0;
	switch_rate_resume(rate, now);
	return rate->often;
}

void switch_rate_resume(struct switch_rate *rate, uint64_t now)
{
	rate->since = now;
	rate->switches = rate->births = 0;
}

void switch_windows_go_on(struct switch_windows *windows, double a_second, uint64_t now)
{
	const uint64_t ns = now - windows->since;
	const bool worth_it = a_second > (windows->state == SWITCHES_ALL ? VERY_OFTEN : LESS_OFTEN);
	const int before = (int)windows->state;
	if (windows->state == SWITCHES_GAP && ns >= GAP_NS)
		windows->state = SWITCHES_WINDOW;
	else if (windows->state == SWITCHES_WINDOW && ns >= WINDOW_NS)
		windows->state = worth_it ? SWITCHES_GAP : SWITCHES_ALL;
	else if (windows->state == SWITCHES_ALL && worth_it)
		windows->state = SWITCHES_WINDOW;
	if ((int)windows->state != before)
		windows->since = now;
}
