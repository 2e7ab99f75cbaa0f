/* Times loops in cycles of the core. */
#include "machine/core/turn_cycles.h"

#include "machine/kernels/clock_kernels.h"

#include <math.h>
#include <x86intrin.h>

#define BATCHES 24  /* at most */
#define BATCH 5     /* runs of which the fastest is taken */
#define WITHIN 1.01 /* two batches agree */
#define CLOCK_COUNT 24
#define WARM_RUNS 3 /* some 20 µs */

static uint64_t ticks_of_clock(uint64_t count)
{
	_mm_lfence();
	const uint64_t start = __rdtsc();
	_mm_lfence();
	clock_adds(count);
	_mm_lfence();
	return __rdtsc() - start;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Cycles of one turn, by the fastest of a few runs of one length and of three times that: what
 * comes before and behind the loop is in both.  `warms_up`: runs that do not count come before each
 * of these, as some cores are slower for 10 µs or more when multiplications of 512 bits begin,
 * which may be over in the longer run and not in the shorter one. */
static double batch(turn_ticks *run, void *context, uint64_t turns, bool warms_up)
{
	uint64_t once = UINT64_MAX, thrice = UINT64_MAX, clock_once = UINT64_MAX,
		 clock_thrice = UINT64_MAX;
	for (int i = 0; i < BATCH; i++) {
		for (int k = 0; k < WARM_RUNS && warms_up; k++)
			run(context, 3 * turns);
		once = least(once, run(context, turns));
		thrice = least(thrice, run(context, 3 * turns));
		clock_once = least(clock_once, ticks_of_clock(CLOCK_COUNT));
		clock_thrice = least(clock_thrice, ticks_of_clock(3 * CLOCK_COUNT));
	}
	if (thrice <= once || clock_thrice <= clock_once)
		return INFINITY;
	const double cycles_per_tick =
		2.0 * CLOCK_COUNT * CLOCK_CYCLES_PER_COUNT / (double)(clock_thrice - clock_once);
	return (double)(thrice - once) * cycles_per_tick / (2.0 * (double)turns);
}

/* The middle of all batches, as soon as its neighbours confirm it: a batch can be too long when
 * something comes between, and too short when the clock beside it was. */
double turn_cycles(turn_ticks *run, void *context, uint64_t turns, bool warms_up)
{
	double found[BATCHES];
	for (int n = 1; n <= BATCHES; n++) {
		const int middle = n / 2;
		int at = n - 1;
		const double cycles = batch(run, context, turns, warms_up);
		for (; at > 0 && found[at - 1] > cycles; at--)
			found[at] = found[at - 1];
		found[at] = cycles;
		if (n >= 3 &&
		    found[middle + 1 < n ? middle + 1 : middle] <= found[middle - 1] * WITHIN)
			return found[middle];
	}
	return NAN;
}
