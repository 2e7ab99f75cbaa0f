/* A loop with a branch that goes by a byte of an array, which is filled anew before each pass: with
 * random bytes half of its outcomes cannot be predicted by anything, with one byte in 64 that is
 * another one, at a random place, one in 64; with all the same none is mispredicted. */
#include "machine/core/branch_cost.h"

#include "machine/kernels/clock_kernels.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <x86intrin.h>

#define BRANCHES 8192 /* of a pass, in L1 */
#define RARELY 64     /* one of so many */
#define PASSES 31
#define TEACHING 60 /* passes before those that count */
#define CLOCK_COUNT 64
#define MOST_SPREAD 0.2 /* between the quartiles, of the cost */

/* Counts the bytes below 0.  One byte after another, so that compilers make no vectors of it. */
static uint64_t pass(const uint8_t *bytes)
{
	const uint8_t *at = bytes, *end = bytes + BRANCHES;
	uint64_t count = 0;
	__asm__ volatile("1:\n\t"
			 "cmpb $0, (%0)\n\t"
			 "jge 2f\n\t"
			 "inc %1\n"
			 "2:\n\t"
			 "inc %0\n\t"
			 "cmp %2, %0\n\t"
			 "jne 1b"
			 : "+r"(at), "+r"(count)
			 : "r"(end)
			 : "memory", "cc");
	return count;
}

static double cycles_per_tick(void)
{
	uint64_t best = UINT64_MAX;
	for (int i = 0; i < 3; i++) {
		const uint64_t start = __rdtsc();
		clock_adds(CLOCK_COUNT);
		const uint64_t ticks = __rdtsc() - start;
		best = ticks < best ? ticks : best;
	}
	return (double)CLOCK_COUNT * CLOCK_CYCLES_PER_COUNT / (double)best;
}

/* Cycles of a pass over bytes that have just been written. */
static double timed_pass(const uint8_t *bytes)
{
	const double cycles = cycles_per_tick();
	_mm_lfence();
	const uint64_t start = __rdtsc();
	_mm_lfence();
	pass(bytes);
	_mm_lfence();
	return (double)(__rdtsc() - start) * cycles;
}

static double timed_predictable(uint8_t *bytes, int value)
{
	memset(bytes, value, BRANCHES);
	pass(bytes); /* learns it */
	return timed_pass(bytes);
}

static uint8_t random_byte(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint8_t)(*state >> 56);
}

static double timed_random(uint8_t *bytes, uint64_t *state)
{
	for (size_t i = 0; i < BRANCHES; i++)
		bytes[i] = random_byte(state);
	return timed_pass(bytes);
}

static double timed_rare(uint8_t *bytes, uint64_t *state)
{
	memset(bytes, 0, BRANCHES);
	for (size_t i = 0; i < BRANCHES; i += RARELY)
		bytes[i + random_byte(state) % RARELY] = 255;
	return timed_pass(bytes);
}

static int by_size(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* The middle one; NAN: they are too far apart. */
static double middle_of(double costs[PASSES])
{
	qsort(costs, PASSES, sizeof(*costs), by_size);
	const double middle = costs[PASSES / 2], spread = costs[3 * PASSES / 4] - costs[PASSES / 4];
	return middle > 0 && spread < MOST_SPREAD * middle ? middle : NAN;
}

/* Times of passes, one right behind the other, the first of which teach the predictors: what they
 * make of bytes by chance is seen in bytes that come behind many such. */
static void take_passes(double (*timed)(uint8_t *bytes, uint64_t *state), uint8_t *bytes,
			uint64_t *state, double times[PASSES])
{
	for (int i = -TEACHING; i < PASSES; i++) {
		const double cycles = timed(bytes, state);
		if (i >= 0)
			times[i] = cycles;
	}
}

/* Of bytes that are all the same, one way and the other by turns. */
static void take_predictable(uint8_t *bytes, double never[PASSES], double always[PASSES])
{
	for (int i = 0; i < PASSES; i++) {
		always[i] = timed_predictable(bytes, 255);
		never[i] = timed_predictable(bytes, 0);
	}
}

/* By how much each of n mispredictions made a pass longer than one that was predicted. */
static double cost_of(double times[PASSES], double predicted, double n)
{
	for (int i = 0; i < PASSES; i++)
		times[i] = (times[i] - predicted) / n;
	return middle_of(times);
}

void branch_cost_cycles(double cost[2])
{
	double never[2][PASSES], always[2][PASSES], rarely[PASSES], often[PASSES];
	uint64_t state = __rdtsc();
	uint8_t *bytes = malloc(BRANCHES);
	cost[0] = cost[1] = NAN;
	if (!bytes)
		return;
	take_predictable(bytes, never[0], always[0]);
	take_passes(timed_rare, bytes, &state, rarely);
	take_predictable(bytes, never[1], always[1]);
	take_passes(timed_random, bytes, &state, often);
	free(bytes);
	const double zeros = middle_of(never[0]), ones = middle_of(always[1]),
		     change = middle_of(never[1]) - zeros, n_rare = (double)BRANCHES / RARELY;
	cost[0] = cost_of(often, (zeros + change + ones) / 2, BRANCHES / 2.);
	cost[1] = cost_of(rarely, zeros + change / 2, n_rare);
	/* another hardware thread that came or went meanwhile is not what a misprediction costs */
	if (!(fabs(change) / n_rare < MOST_SPREAD * cost[1]))
		cost[1] = NAN;
}
