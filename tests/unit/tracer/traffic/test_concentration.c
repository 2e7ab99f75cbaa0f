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
	for (unsigned burst = 1; burst <= n; burst++)
		for (unsigned i = 0; i < BURST; i++, at++) {
			const uint64_t line = burst * drift + step * (places ? at % places : at);
			const struct burst_access access = {
				.who = WHO,
				.burst = burst,
				.class = line % CACHE_CLASSES,
				.n_operands = 2,
				.missed = burst_cache_misses(&cache, line),
			};
			concentration_note(concentration, &access);
		}
	burst_cache_deinit(&cache);
	return concentration;
}

static struct miss_rate rate_of(unsigned n, uint64_t step, uint64_t places, uint64_t drift,
				unsigned sampled)
{
	struct concentration *concentration = walk(n, step, places, drift);
	const struct miss_rate rate = concentration_rate(concentration, WHO, sampled);
	concentration_destroy(concentration);
	return rate;
}

/* A step of 64 / k lines meets k classes; a sample of n classes meets steps of up to n lines. */
Test(concentration, steps)
{
	for (unsigned step = 1; step <= 64; step *= 2)
		for (unsigned sampled = 1; sampled <= 64; sampled *= 2) {
			const struct miss_rate rate = rate_of(200, step, 0, 0, sampled);
			cr_expect_eq(rate.concentrated, step > sampled, "%u lines, %u of 64", step,
				     sampled);
			if (!rate.concentrated)
				continue;
			cr_expect_eq(rate.of_execution, 2);
			cr_expect_eq(rate.halfwidth, 0);
		}
}

/* What stays in the first level moves nothing, whatever its classes. */
Test(concentration, hits_do_not_count)
{
	cr_expect_not(rate_of(200, 64, 8, 0, 2).concentrated);
	cr_expect(rate_of(200, 64, 9, 0, 2).concentrated);
}

/* A walk that comes to all classes in time keeps to none; nobody can say after two bursts. */
Test(concentration, walks_through_all_classes)
{
	cr_expect_not(rate_of(200, 64, 0, 1, 2).concentrated);
	cr_expect_not(rate_of(2, 64, 0, 0, 2).concentrated);
	cr_expect(rate_of(3, 64, 0, 0, 2).concentrated);
}

Test(concentration, rates_that_differ_have_an_interval)
{
	struct concentration *concentration = concentration_create();
	unsigned n = 0, misses = 0;
	for (unsigned burst = 1; burst <= 40; burst++)
		for (unsigned i = 0; i < BURST; i++, n++) {
			const struct burst_access access = {.who = WHO,
							    .burst = burst,
							    .class = 5,
							    .n_operands = 1,
							    .missed = random_number(&state) % 40 <
								      burst};
			misses += access.missed;
			concentration_note(concentration, &access);
		}
	const struct miss_rate rate = concentration_rate(concentration, WHO, 4);
	cr_assert(rate.concentrated);
	cr_expect_float_eq(rate.of_execution, (double)misses / n, 1e-12);
	/* uniform from 0 to 1: the mean of 40 has a standard error of 1 / √(12 · 40) */
	cr_expect_float_eq(rate.halfwidth * rate.of_execution, 2.02 / sqrt(12 * 40), 0.01);
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
		const struct burst_access other = {.who = 1,
						   .burst = 1 + i / BURST,
						   .class = i % CACHE_CLASSES,
						   .missed = true};
		concentration_note(concentration, &other);
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
		cr_assert_null(executions_init(&executions, profile));
		for (uint32_t thread = 0; thread < 4; thread++)
			for (uint32_t module = 0; module < 4; module++)
				for (uint64_t at = 0; at < 600; at++)
					cr_assert_eq(executions_of(&executions, thread, module, at),
						     slowly(profile, thread, module, at));
		executions_deinit(&executions);
		profile_destroy(profile);
	}
}
