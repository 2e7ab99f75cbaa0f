/* Whether blocks run as they did when hot code was found. */
#include "tracer/translate/code_cache.h"
#include "tracer/translate/hot_code.h"

#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#define N_BLOCKS 100

static struct code_block blocks[N_BLOCKS];
static const struct code_cache cache = {.blocks = blocks, .n_blocks = N_BLOCKS};

/* Blocks run 1000 to 1099 times each; those from `n_hot` on hardly ever. */
static void run(double *executions, size_t n_hot)
{
	for (size_t i = 0; i < N_BLOCKS; i++) {
		blocks[i] = (struct code_block){.pc = 0x1000 + 16 * i, .size = 16};
		executions[i] = i < n_hot ? 1000 + (double)i : 1e-9;
	}
}

static bool still_is(const double *before, const double *after)
{
	struct hot_code hot;
	cr_assert(hot_code_init(&hot, &cache, before));
	const bool still = hot_code_still_is(&hot, &cache, after);
	hot_code_deinit(&hot);
	return still;
}

Test(hot_code, what_goes_on_as_it_was_is_left_alone)
{
	double before[N_BLOCKS], after[N_BLOCKS];
	run(before, 80);
	cr_expect(still_is(before, before));
	for (size_t i = 0; i < N_BLOCKS; i++)
		after[i] = before[i] * 1e6;
	cr_expect(still_is(before, after), "it has run for longer");
	for (size_t i = 0; i < N_BLOCKS; i++)
		after[i] = before[i] * (i % 2 ? 1.5 : 1);
	cr_expect(still_is(before, after), "by less than twice");
	memset(after, 0, sizeof(after));
	cr_expect(still_is(before, after), "nothing has run since");
}

Test(hot_code, other_code_is_hot)
{
	double before[N_BLOCKS], after[N_BLOCKS];
	run(before, 80);
	memcpy(after, before, sizeof(after));
	for (size_t i = 80; i < 82; i++)
		after[i] = 1000;
	cr_expect(still_is(before, after), "two of 82 are cold");
	for (size_t i = 80; i < 90; i++)
		after[i] = 1000;
	cr_expect_not(still_is(before, after), "ten of 90 are cold");
	blocks[85].stale = true; /* where it was, not where it is */
	for (size_t i = 80; i < N_BLOCKS; i++)
		after[i] = i == 85 ? 1e9 : 1e-9;
	cr_expect(still_is(before, after));
}

Test(hot_code, the_same_code_runs_otherwise)
{
	double before[N_BLOCKS], after[N_BLOCKS];
	run(before, N_BLOCKS);
	memcpy(after, before, sizeof(after));
	for (size_t i = 0; i < 5; i++)
		after[i] *= 4;
	cr_expect(still_is(before, after), "a fifth does");
	for (size_t i = 5; i < 30; i++)
		after[i] *= 4;
	cr_expect_not(still_is(before, after));
}
