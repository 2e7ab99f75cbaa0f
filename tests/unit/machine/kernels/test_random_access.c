#include "machine/kernels/random_access.h"

#include <criterion/criterion.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define N_KERNELS 10

static char *block_create(size_t lines, size_t line_bytes)
{
	char *block = aligned_alloc(64, (lines * line_bytes + 63) / 64 * 64);
	memset(block, 0xa5, lines * line_bytes);
	return block;
}

static void *next_of(const void *line)
{
	void *next;
	memcpy(&next, line, sizeof(next));
	return next;
}

/* The line's number, or a failure where `at` is not the start of a line of the block. */
static size_t index_of(const char *block, size_t lines, size_t line_bytes, const char *at)
{
	cr_assert(at >= block && at < block + lines * line_bytes);
	cr_assert_eq((at - block) % line_bytes, 0);
	return (at - block) / line_bytes;
}

static void check_cycle(size_t lines, size_t line_bytes, uint64_t seed)
{
	char *block = block_create(lines, line_bytes), *at = block;
	bool *met = calloc(lines, sizeof(*met));
	random_access_prepare(block, lines * line_bytes, line_bytes, seed);
	for (size_t i = 0; i < lines; i++) {
		size_t index = index_of(block, lines, line_bytes, at);
		cr_assert_not(met[index], "%zu lines: line %zu twice", lines, index);
		met[index] = true;
		at = next_of(at);
	}
	cr_assert_eq(at, block, "%zu lines: the cycle does not close", lines);
	free(met);
	free(block);
}

Test(random_access, all_lines_are_on_one_cycle)
{
	for (size_t lines = 1; lines <= 130; lines++)
		for (uint64_t seed = 0; seed < 5; seed++)
			check_cycle(lines, 64, seed);
	check_cycle(100003, 64, 1);
	check_cycle(999, 16, 2);
	check_cycle(999, 128, 3);
}

Test(random_access, a_part_of_a_line_at_the_end_is_left_alone)
{
	char *block = block_create(8, 64);
	random_access_prepare(block, 7 * 64 + 63, 64, 1);
	for (size_t i = 7 * 64; i < 8 * 64; i++)
		cr_assert_eq((unsigned char)block[i], 0xa5);
	free(block);
}

/* All (n - 1)! cycles of 4 lines come about equally often: 6 cycles, 6000 seeds; 5 standard
 * deviations are 144.  The seeds are fixed, so that this is no matter of chance. */
Test(random_access, every_order_is_as_likely)
{
	int seen[4][4] = {0};
	char *block = block_create(4, 64);
	for (uint64_t seed = 0; seed < 6000; seed++) {
		random_access_prepare(block, 4 * 64, 64, seed);
		char *second = next_of(block), *third = next_of(second);
		seen[index_of(block, 4, 64, second)][index_of(block, 4, 64, third)]++;
	}
	for (int i = 1; i < 4; i++)
		for (int j = 1; j < 4; j++)
			if (i != j)
				cr_assert(abs(seen[i][j] - 1000) < 144, "%d %d: %d", i, j,
					  seen[i][j]);
	free(block);
}

Test(random_access, the_order_depends_on_the_seed_only)
{
	enum { LINES = 1000 };
	char *a = block_create(LINES, 64), *b = block_create(LINES, 64);
	random_access_prepare(a, LINES * 64, 64, 7);
	random_access_prepare(b, LINES * 64, 64, 7);
	for (size_t i = 0; i < LINES; i++)
		cr_assert_eq((char *)next_of(a + i * 64) - a, (char *)next_of(b + i * 64) - b);
	random_access_prepare(b, LINES * 64, 64, 8);
	size_t same = 0;
	for (size_t i = 0; i < LINES; i++)
		same += (char *)next_of(a + i * 64) - a == (char *)next_of(b + i * 64) - b;
	cr_assert_lt(same, 10); /* 1 is expected */
	free(a);
	free(b);
}

/* No distance between a line and the next comes often: there is no stride to learn. */
Test(random_access, distances_do_not_repeat)
{
	enum { LINES = 100000 };
	char *block = block_create(LINES, 64);
	int *count = calloc(2 * LINES, sizeof(*count));
	random_access_prepare(block, (size_t)LINES * 64, 64, 1);
	for (size_t i = 0; i < LINES; i++) {
		size_t to = index_of(block, LINES, 64, next_of(block + i * 64));
		cr_assert_lt(++count[LINES + to - i], 12); /* about Poisson, mean at most 1 */
	}
	free(count);
	free(block);
}

Test(random_access, chains_start_evenly_spaced)
{
	for (size_t lines = RANDOM_MAX_CHAINS; lines < 200; lines += 7) {
		char *block = block_create(lines, 64);
		random_access_prepare(block, lines * 64, 64, lines);
		for (int chains = 1; chains <= RANDOM_MAX_CHAINS; chains++) {
			struct random_state state;
			random_state_init(&state, block, lines * 64, 64, chains);
			for (int i = 0; i + 1 < chains; i++) {
				void *at = state.at[i];
				for (size_t step = 0; step < lines / chains; step++)
					at = next_of(at);
				cr_assert_eq(at, state.at[i + 1], "%zu lines, %d chains", lines,
					     chains);
			}
		}
		free(block);
	}
}

/* Against a plain walk, over several calls; slots of other chains are left alone. */
static void check_kernel(const struct random_kernel *kernel, size_t lines)
{
	static const uint64_t steps[] = {1, 2, 3, 64, 1, 1000};
	char *block = block_create(lines, 64);
	struct random_state state, expected;
	random_access_prepare(block, lines * 64, 64, lines);
	random_state_init(&state, block, lines * 64, 64, kernel->chains);
	expected = state;
	for (size_t call = 0; call < sizeof(steps) / sizeof(steps[0]); call++) {
		kernel->run(steps[call], &state);
		for (int i = 0; i < kernel->chains; i++)
			for (uint64_t step = 0; step < steps[call]; step++)
				expected.at[i] = next_of(expected.at[i]);
		for (int i = 0; i < RANDOM_MAX_CHAINS; i++)
			cr_assert_eq(state.at[i], expected.at[i], "%d chains, %zu lines: chain %d",
				     kernel->chains, lines, i);
	}
	free(block);
}

Test(random_access, kernels_take_exactly_their_steps)
{
	cr_assert_eq(n_random_kernels, N_KERNELS);
	for (size_t k = 0; k < n_random_kernels; k++) {
		int chains = random_kernels[k].chains;
		cr_assert(chains <= RANDOM_MAX_CHAINS &&
			  (!k || chains > random_kernels[k - 1].chains));
		for (size_t lines = chains; lines < chains + 70; lines++)
			check_kernel(&random_kernels[k], lines);
		check_kernel(&random_kernels[k], 10007);
	}
}
