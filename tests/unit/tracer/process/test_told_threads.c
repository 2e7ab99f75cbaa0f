/* Random threads of random programs, with what they ran summed up by hand. */
#include "tracer/process/told_threads.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 200
#define PROGRAMS 7
#define BLOCKS 50

/* The threads that begin with enough of others there are told of the first one of their program. */
static size_t begin(struct told_threads *told, uint32_t *expected, unsigned many_from)
{
	uint32_t first[PROGRAMS];
	bool begun[PROGRAMS] = {false};
	size_t n_told = 0;
	for (uint32_t thread = 0; thread < THREADS; thread++) {
		const unsigned program = (unsigned)rand() % PROGRAMS;
		const bool many = thread >= many_from;
		expected[thread] = many && begun[program] ? first[program] : thread;
		n_told += expected[thread] != thread;
		if (!begun[program])
			first[program] = thread;
		begun[program] = true;
		cr_assert_eq(told_threads_begin(told, thread, program + 1, many), expected[thread]);
	}
	return n_told;
}

static void compare(unsigned many_from)
{
	static int64_t n[THREADS][BLOCKS], checked[THREADS][BLOCKS];
	struct told_threads told = {0};
	struct profile *profile = profile_create();
	uint32_t expected[THREADS];
	const size_t n_told = begin(&told, expected, many_from);
	memset(n, 0, sizeof(n));
	memset(checked, 0, sizeof(checked));
	for (int i = 0; i < 60000; i++) {
		const struct profile_count count = {(uint32_t)rand() % BLOCKS,
						    (uint32_t)rand() % THREADS, rand() % 100 - 5,
						    rand() % 50};
		cr_assert_eq(told_threads_of(&told, count.thread), expected[count.thread]);
		cr_assert_null(told_threads_count(&told, profile, count));
		n[expected[count.thread]][count.block] += count.n;
		checked[expected[count.thread]][count.block] += count.checked;
	}
	for (size_t i = 0; i < profile->n_counts; i++) {
		const struct profile_count *count = &profile->counts[i];
		n[count->thread][count->block] -= count->n;
		checked[count->thread][count->block] -= count->checked;
	}
	for (size_t thread = 0; thread < THREADS; thread++)
		for (size_t block = 0; block < BLOCKS; block++)
			cr_assert(!n[thread][block] && !checked[thread][block]);
	cr_expect_eq(told.n_told, n_told);
	cr_expect(many_from || profile->n_counts < 60000 / 4, "%zu rows", profile->n_counts);
	told_threads_note(&told, profile);
	cr_expect_eq(!profile_get_fact(profile, "threads_told"), !n_told);
	told_threads_deinit(&told);
	profile_destroy(profile);
}

Test(told_threads, sums_stay_what_they_are)
{
	srand(1);
	compare(THREADS);
	for (unsigned round = 0; round < 20; round++)
		compare((unsigned)rand() % THREADS);
	compare(0);
}
