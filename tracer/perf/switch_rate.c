/* Switches to the program's threads on a processor, over some milliseconds. */
#include "tracer/perf/switch_rate.h"

/* The shortest time in which a rate is told. */
#define LEAST_NS 8000000

/* Switches a second.  A timer was seen to take 12 us of each in a virtual machine, where it ends
 * the guest's turn: 3,000 of them are 4 % of the time. */
enum { OFTEN = 3000, SELDOM = 1500 };

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
	rate->since = now;
	rate->switches = rate->births = 0;
	return rate->often;
}
