/* Children that run one after the other, against a count of all moments, in families made by
 * chance. */
#include "report/account/child_lives.h"
#include "tests/unit/splitmix.h"

#include <criterion/criterion.h>
#include <math.h>

enum { ROUNDS = 2000, PARENTS = 3, CHILDREN = 12, MOMENTS = 40 };
#define MOMENT_NS 1000000000ull

static uint64_t state = 1;

static uint32_t below(uint32_t n)
{
	return (uint32_t)(random_number(&state) % n);
}

/* At each moment each child of the timed run lives or does not. */
struct family {
	bool lives[CHILDREN][MOMENTS];
};

static struct family add_family(struct profile *profile)
{
	struct family family = {0};
	const uint32_t n = below(CHILDREN + 1), longest = 1 + below(MOMENTS);
	const uint32_t parent =
		profile_process(profile, RUN_TIMED, (int)profile->n_processes + 1, PROFILE_NONE);
	for (uint32_t i = 0; i < n; i++) {
		const enum profile_run run = below(5) ? RUN_TIMED : RUN_COUNTED;
		const uint32_t start = below(MOMENTS), end = start + below(longest);
		const bool is_seen = end && end < MOMENTS;
		const uint32_t row =
			profile_process(profile, run, (int)profile->n_processes + 1, parent);
		profile->processes[row].start_ns = start * MOMENT_NS;
		profile->processes[row].end_ns = is_seen ? end * MOMENT_NS : 0;
		for (uint32_t at = start; at < (is_seen ? end : MOMENTS); at++)
			family.lives[i][at] = run == RUN_TIMED;
	}
	return family;
}

static double saved(const struct family *family, unsigned processors)
{
	int any = 0, all = 0, longest = 0;
	for (int at = 0; at < MOMENTS; at++) {
		bool is_any = false;
		for (int i = 0; i < CHILDREN; i++)
			is_any |= family->lives[i][at];
		any += is_any;
	}
	for (int i = 0; i < CHILDREN; i++) {
		int own = 0;
		for (int at = 0; at < MOMENTS; at++)
			own += family->lives[i][at];
		all += own;
		longest = own > longest ? own : longest;
	}
	return any - fmax(longest, (double)all / processors);
}

Test(child_lives, agree_with_a_count_of_all_moments)
{
	int n_in_turn = 0, n_at_once = 0;
	for (int round = 0; round < ROUNDS; round++) {
		struct profile *profile = profile_create();
		const unsigned processors = 1 + below(4), n = below(PARENTS + 1);
		double most_s = 0;
		for (unsigned i = 0; i < n; i++) {
			const struct family family = add_family(profile);
			most_s = fmax(most_s, saved(&family, processors));
		}
		cr_assert_float_eq(child_lives_in_turn(profile, processors, MOMENTS), most_s, 1e-9,
				   "round %d: %g and %g", round,
				   child_lives_in_turn(profile, processors, MOMENTS), most_s);
		n_in_turn += most_s > 0;
		n_at_once += most_s <= 0;
		profile_destroy(profile);
	}
	cr_assert(n_in_turn > ROUNDS / 4 && n_at_once > ROUNDS / 4, "%d and %d", n_in_turn,
		  n_at_once);
}
