/* How often instructions ran, beside sums over all counts. */
#include "base/array.h"
#include "tests/unit/splitmix.h"
#include "tracer/traffic/executions.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#define THREADS 6
#define PLACES 40 /* offsets of blocks */
#define BLOCKS 30
#define COUNTS 400

static uint64_t state = 3;

static struct profile *random_counts(void)
{
	struct profile *profile = profile_create();
	for (int i = 0; i < BLOCKS; i++) {
		const struct profile_block block = {.module = (uint32_t)random_number(&state) % 2,
						    .start = random_number(&state) % PLACES,
						    .size = 1 +
							    (uint32_t)random_number(&state) % 20};
		cr_assert(rf_array_push(profile->blocks, profile->n_blocks, profile->cap_blocks,
					block));
	}
	for (int i = 0; i < COUNTS; i++) {
		const int64_t n = (int64_t)(random_number(&state) % 1000);
		const struct profile_count count = {
			(uint32_t)(random_number(&state) % BLOCKS),
			(uint32_t)(random_number(&state) % THREADS), n,
			n ? (int64_t)(random_number(&state) % (uint64_t)n) : 0};
		cr_assert(rf_array_push(profile->counts, profile->n_counts, profile->cap_counts,
					count));
	}
	return profile;
}

/* The slow way. */
static double sum(const struct profile *profile, const uint32_t *told, uint32_t thread,
		  uint32_t module, uint64_t offset, bool checked)
{
	double n = 0;
	for (size_t i = 0; i < profile->n_counts; i++) {
		const struct profile_count *count = &profile->counts[i];
		const struct profile_block *block = &profile->blocks[count->block];
		if (told[count->thread] == thread && block->module == module &&
		    offset - block->start < block->size)
			n += (double)(checked ? count->checked : count->n);
	}
	return n;
}

static void compare(const struct profile *profile, const struct told_threads *shared,
		    const uint32_t *told)
{
	struct executions executions;
	cr_assert_null(executions_init(&executions, profile, shared));
	for (uint32_t thread = 0; thread < THREADS; thread++)
		for (uint32_t module = 0; module < 2; module++)
			for (uint64_t at = 0; at < PLACES + 20; at++) {
				cr_assert_eq(executions_of(&executions, thread, module, at),
					     sum(profile, told, thread, module, at, false));
				cr_assert_eq(executions_checked(&executions, thread, module, at),
					     sum(profile, told, thread, module, at, true));
			}
	executions_deinit(&executions);
}

Test(executions, are_those_of_all_blocks_around)
{
	const uint32_t told[THREADS] = {0, 1, 2, 3, 4, 5};
	for (int round = 0; round < 20; round++) {
		struct profile *profile = random_counts();
		compare(profile, &(struct told_threads){0}, told);
		profile_destroy(profile);
	}
}

/* Threads 2 to 4 are told of others, which have what these ran, too; 5 is unknown to the list. */
Test(executions, of_threads_that_are_told_of_others_are_theirs)
{
	uint32_t of[] = {0, 0, 1, 2, 1};
	const uint32_t told[THREADS] = {0, 1, 0, 1, 0, 5};
	const struct told_threads shared = {.of = of, .n_of = 5};
	for (int round = 0; round < 20; round++) {
		struct profile *profile = random_counts();
		compare(profile, &shared, told);
		profile_destroy(profile);
	}
}
