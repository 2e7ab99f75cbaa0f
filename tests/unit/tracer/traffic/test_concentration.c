/* Which instructions keep to few classes, and how often instructions ran. */
#include "base/array.h"
#include "cache/traffic.h"
#include "tests/unit/splitmix.h"
#include "tracer/traffic/concentration.h"
#include "tracer/traffic/executions.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WHO 7
#define BURST 600 /* accesses */

static uint64_t state = 11;

static void tell(struct concentration *concentration, const struct burst_access *access,
		 unsigned class, bool missed)
{
	concentration_note(concentration, access);
	if (missed)
		concentration_miss(concentration, access, (struct burst_miss){.class = class});
}

/* `n` bursts of a walk over lines `step` apart, `places` of them again and again (0: never again),
 * from a line that differs by `drift` from burst to burst. */
static struct concentration *walk(unsigned n, uint64_t step, uint64_t places, uint64_t drift)
{
	struct geometry geometry;
	struct burst_cache cache;
	struct concentration *concentration = concentration_create();
	cr_assert_null(geometry_parse("L1=32K:8,L2=512K:8", &geometry));
	cr_assert(burst_cache_init(&cache, &geometry));
	uint64_t at = 0;
	bool changed;
	for (unsigned burst = 1; burst <= n; burst++)
		for (unsigned i = 0; i < BURST; i++, at++) {
			const uint64_t line = burst * drift + step * (places ? at % places : at);
			const struct burst_access access = {
				.who = WHO,
				.burst = burst,
				.weight = 1,
				.n_operands = 2,
			};
			tell(concentration, &access, line % CACHE_CLASSES,
			     burst_cache_misses(&cache, line, false, &changed));
		}
	burst_cache_deinit(&cache);
	return concentration;
}

static uint64_t heavy_of(unsigned n, uint64_t step, uint64_t places, uint64_t drift,
			 unsigned sampled)
{
	struct concentration *concentration = walk(n, step, places, drift);
	const uint64_t heavy = concentration_heavy(concentration, WHO, sampled, false);
	concentration_destroy(concentration);
	return heavy;
}

/* The same where no event of it was in a simulated class. */
static uint64_t unsampled_heavy_of(unsigned n, uint64_t step, uint64_t places, uint64_t drift,
				   unsigned sampled)
{
	struct concentration *concentration = walk(n, step, places, drift);
	const uint64_t heavy = concentration_heavy(concentration, WHO, sampled, true);
	concentration_destroy(concentration);
	return heavy;
}

static struct miss_rate rate_of(unsigned n, uint64_t step, uint64_t places, uint64_t classes)
{
	struct concentration *concentration = walk(n, step, places, 0);
	const struct miss_rate rate = concentration_rate(concentration, WHO, classes);
	concentration_destroy(concentration);
	return rate;
}

/* A step of 64 / k lines meets k classes; a sample of n classes meets steps of up to n lines. */
Test(concentration, steps)
{
	for (unsigned step = 1; step <= 64; step *= 2)
		for (unsigned sampled = 1; sampled <= 64; sampled *= 2) {
			const uint64_t heavy = heavy_of(200, step, 0, 0, sampled);
			cr_expect_eq(__builtin_popcountll(heavy), step > sampled ? 64 / step : 0,
				     "%u lines, %u of 64", step, sampled);
			if (!heavy)
				continue;
			const struct miss_rate rate = rate_of(200, step, 0, heavy);
			cr_expect_float_eq(rate.of_execution, 2, 1e-9);
			cr_expect_float_eq(rate.halfwidth, 0, 0.05);
		}
}

/* A single burst is enough not to tell nothing of it. */
Test(concentration, seen_once)
{
	cr_expect(unsampled_heavy_of(1, 64, 0, 0, 4));
	cr_expect_not(heavy_of(1, 64, 0, 0, 4));
	cr_expect_not(unsampled_heavy_of(1, 1, 0, 0, 4), "a sweep has simulated classes");
	cr_expect_not(unsampled_heavy_of(1, 64, 8, 0, 4), "hits");
}

/* A line is changed once while it is in the first level. */
Test(concentration, changed_lines)
{
	struct geometry geometry;
	struct burst_cache cache;
	bool changed;
	cr_assert_null(geometry_parse("L1=32K:8,L2=512K:8", &geometry));
	cr_assert(burst_cache_init(&cache, &geometry));
	cr_expect(burst_cache_misses(&cache, 5, false, &changed) && !changed);
	cr_expect(!burst_cache_misses(&cache, 5, true, &changed) && changed);
	cr_expect(!burst_cache_misses(&cache, 5, true, &changed) && !changed);
	for (uint64_t i = 1; i <= 8; i++)
		cr_expect(burst_cache_misses(&cache, 5 + 64 * i, true, &changed) && changed);
	cr_expect(burst_cache_misses(&cache, 5, false, &changed) && !changed);
	burst_cache_deinit(&cache);
}

/* What stays in the first level moves nothing, whatever its classes. */
Test(concentration, hits_do_not_count)
{
	cr_expect_not(heavy_of(200, 64, 8, 0, 2));
	cr_expect(heavy_of(200, 64, 9, 0, 2));
}

/* A walk that comes to all classes in time keeps to none; nobody can say after two bursts. */
Test(concentration, walks_through_all_classes)
{
	cr_expect_not(heavy_of(200, 64, 0, 1, 2));
	cr_expect_not(heavy_of(2, 64, 0, 0, 2));
	cr_expect(heavy_of(3, 64, 0, 0, 2));
}

/* `copies` of an instruction, `apart` bytes from one another, in a loop that goes 32 lines a turn:
 * each has the line behind the one before, and a burst has so many turns. */
static bool unrolled_is_concentrated(unsigned copies, uint64_t apart)
{
	struct concentration *concentration = concentration_create();
	uint64_t turn = 0;
	for (unsigned burst = 1; burst <= 40; burst++)
		for (unsigned i = 0; i < 10; i++, turn++)
			for (unsigned copy = 0; copy < copies; copy++) {
				const struct burst_access access = {
					.who = WHO + copy,
					.place = 0x1000 + copy * apart,
					.burst = burst,
					.weight = 1,
					.n_operands = 1,
				};
				tell(concentration, &access, (turn * 32 + copy) % CACHE_CLASSES,
				     true);
			}
	const bool concentrated = concentration_heavy(concentration, WHO, 4, false) != 0;
	cr_expect_eq(concentration_wants(concentration, 0xf00000000, 4) >= 0, concentrated);
	concentration_destroy(concentration);
	return concentrated;
}

/* Each copy goes to two classes only; what matters is where all of them go. */
Test(concentration, copies_of_an_unrolled_loop)
{
	cr_expect_not(unrolled_is_concentrated(32, 9));
	cr_expect(unrolled_is_concentrated(3, 9), "six classes");
	cr_expect(unrolled_is_concentrated(32, 10000), "32 loops");
}

Test(concentration, rates_that_differ_have_an_interval)
{
	struct concentration *concentration = concentration_create();
	unsigned n = 0, misses = 0;
	for (unsigned burst = 1; burst <= 40; burst++)
		for (unsigned i = 0; i < BURST; i++, n++) {
			const struct burst_access access = {
				.who = WHO, .burst = burst, .weight = 1, .n_operands = 1};
			const bool missed = random_number(&state) % 40 < burst;
			misses += missed;
			tell(concentration, &access, 5, missed);
		}
	cr_assert_eq(concentration_heavy(concentration, WHO, 4, false), 1 << 5);
	const struct miss_rate rate = concentration_rate(concentration, WHO, 1 << 5);
	cr_expect_float_eq(rate.of_execution, (double)misses / n, 1e-12);
	/* uniform from 0 to 1: the mean of 40 has a standard error of 1 / √(12 · 40); and half of
	 * the deviation of one */
	cr_expect_float_eq(rate.halfwidth * rate.of_execution,
			   hypot(2.02 / sqrt(12 * 40), 0.5 / sqrt(12)), 0.01);
	concentration_destroy(concentration);
}

/* What it misses of one class only in some phases, and else of all alike, is told apart; a burst
 * counts as much as the time that it stands for. */
Test(concentration, half_of_it_in_one_class)
{
	struct concentration *concentration = concentration_create();
	double n_in_class = 0;
	for (unsigned burst = 1; burst <= 60; burst++)
		for (unsigned i = 0; i < BURST; i++) {
			const bool phase = burst % 3 == 0;
			const struct burst_access access = {.who = WHO,
							    .burst = burst,
							    .weight = burst % 7 + 1,
							    .n_operands = 1};
			const bool of_class = phase || i / 2 % CACHE_CLASSES == 9;
			tell(concentration, &access, phase ? 9 : i / 2 % CACHE_CLASSES, i % 2);
			n_in_class += i % 2 && of_class;
		}
	cr_expect_eq(concentration_heavy(concentration, WHO, 4, false), 1 << 9);
	cr_expect_eq(concentration_heavy(concentration, WHO, 64, false), 0, "all are known");
	const struct miss_rate rate = concentration_rate(concentration, WHO, 1 << 9);
	cr_expect_float_eq(rate.of_execution, n_in_class / 60 / BURST, 1e-9);
	cr_expect(rate.halfwidth > 0.5 && rate.halfwidth < 1, "%g", rate.halfwidth);
	cr_expect_lt(concentration_wants(concentration, 0xf, 4), 0, "it would take too long");
	concentration_destroy(concentration);
}

/* A class that is lacking is asked for until enough are simulated, and only with a good share of
 * all misses. */
Test(concentration, classes_that_are_wanted)
{
	struct concentration *concentration = walk(20, 16, 0, 3); /* 3, 19, 35, 51 and so on */
	uint64_t simulated = 1ull << 4;
	cr_expect_lt(concentration_wants(concentration, simulated, 16), 0);
	concentration_destroy(concentration);

	concentration = walk(20, 64, 0, 0); /* class 0 alone */
	cr_expect_eq(concentration_wants(concentration, simulated, 16), 0);
	cr_expect_lt(concentration_wants(concentration, simulated, 16), 0, "nothing is new");
	concentration_destroy(concentration);

	concentration = walk(20, 64, 0, 0);
	cr_expect_lt(concentration_wants(concentration, simulated | 1, 16), 0);
	concentration_destroy(concentration);

	concentration = walk(20, 64, 0, 0);
	for (unsigned i = 0; i < 200 * 20 * BURST; i++) {
		const struct burst_access other = {.who = 1, .burst = 1 + i / BURST, .weight = 1};
		tell(concentration, &other, i % CACHE_CLASSES, true);
	}
	cr_expect_lt(concentration_wants(concentration, simulated, 16), 0, "0.5 %% of all");
	concentration_destroy(concentration);
}

/* ---- executions ---- */

static double slowly(const struct profile *profile, uint32_t thread, uint32_t module,
		     uint64_t offset)
{
	double sum = 0;
	for (size_t i = 0; i < profile->n_counts; i++) {
		const struct profile_block *block = &profile->blocks[profile->counts[i].block];
		if (profile->counts[i].thread == thread && block->module == module &&
		    offset >= block->start && offset < block->start + block->size)
			sum += (double)profile->counts[i].n;
	}
	return sum;
}

Test(executions, are_those_of_all_blocks_around)
{
	for (int round = 0; round < 50; round++) {
		struct profile *profile = profile_create();
		struct executions executions;
		const unsigned n = (unsigned)(random_number(&state) % 300);
		for (unsigned i = 0; i < n; i++) {
			const uint64_t random = random_number(&state);
			const struct profile_block block = {.module = random % 3,
							    .start = (random >> 8) % 500,
							    .size = 1 + (random >> 24) % 60};
			const struct profile_count count = {i, (random >> 40) % 3,
							    (random >> 48) % 1000};
			cr_assert(rf_array_push(profile->blocks, profile->n_blocks,
						profile->cap_blocks, block));
			cr_assert(rf_array_push(profile->counts, profile->n_counts,
						profile->cap_counts, count));
		}
		cr_assert_null(executions_init(&executions, profile, &(struct told_threads){0}));
		for (uint32_t thread = 0; thread < 4; thread++)
			for (uint32_t module = 0; module < 4; module++)
				for (uint64_t at = 0; at < 600; at++)
					cr_assert_eq(executions_of(&executions, thread, module, at),
						     slowly(profile, thread, module, at));
		executions_deinit(&executions);
		profile_destroy(profile);
	}
}
