#include "branches/predictor.h"

#include "tests/reference/branch_reference.h"
#include "tests/unit/splitmix.h"

#include <criterion/criterion.h>

enum { TURNS = 60000, WARM = 20000 };

static double fraction(uint64_t *state)
{
	return (double)(random_number(state) >> 11) * 0x1p-53;
}

/* What is mispredicted of the outcomes of one function behind the first ones. */
static double wrong_share(bool (*outcome)(uint64_t turn, uint64_t *state), bool plain)
{
	struct predictor *predictor = predictor_create();
	uint64_t state = 7, wrong = 0;
	for (uint64_t turn = 0; turn < TURNS; turn++) {
		const struct executed_branch branch = {PREDICT_CONDITIONAL, 0x401000,
						       outcome(turn, &state)};
		const struct branch_guesses guesses = predictor_take(predictor, &branch);
		if (turn >= WARM)
			wrong += (plain ? guesses.plain : guesses.tage) == BRANCH_WRONG;
	}
	predictor_destroy(predictor);
	return (double)wrong / (TURNS - WARM);
}

static bool always(uint64_t turn, uint64_t *state)
{
	return true;
}

static bool never(uint64_t turn, uint64_t *state)
{
	return false;
}

static bool alternating(uint64_t turn, uint64_t *state)
{
	return turn % 2;
}

static bool loop_of_10(uint64_t turn, uint64_t *state)
{
	return turn % 10 != 9;
}

static bool loop_of_100(uint64_t turn, uint64_t *state)
{
	return turn % 100 != 99;
}

/* A sequence that comes again after 37 turns. */
static bool period_of_37(uint64_t turn, uint64_t *state)
{
	uint64_t place = turn % 37;
	return random_number(&place) & 1;
}

Test(predictor, what_comes_again_is_known)
{
	bool (*const outcomes[])(uint64_t, uint64_t *) = {always,     never,       alternating,
							  loop_of_10, loop_of_100, period_of_37};
	for (size_t i = 0; i < sizeof(outcomes) / sizeof(*outcomes); i++)
		cr_expect_eq(wrong_share(outcomes[i], false), 0, "sequence %zu", i);
}

Test(predictor, gshare_knows_short_ones)
{
	cr_expect_eq(wrong_share(always, true), 0);
	cr_expect_eq(wrong_share(alternating, true), 0);
	cr_expect_eq(wrong_share(loop_of_10, true), 0);
	cr_expect_float_eq(wrong_share(loop_of_100, true), 0.01, 0.001);
}

/* Longer than any history: the end of the loop cannot be seen coming. */
static bool loop_of_400(uint64_t turn, uint64_t *state)
{
	return turn % 400 != 399;
}

Test(predictor, the_end_of_a_long_loop_is_not_known)
{
	cr_expect_float_eq(wrong_share(loop_of_400, false), 1 / 400., 0.0005);
}

static double p;

static bool by_chance(uint64_t turn, uint64_t *state)
{
	return fraction(state) < p;
}

Test(predictor, chance_cannot_be_predicted)
{
	for (int tenths = 1; tenths <= 9; tenths++) {
		p = tenths / 10.;
		const double best = p < 0.5 ? p : 1 - p, found = wrong_share(by_chance, false);
		cr_expect(found > best - 0.01 && found < best + 0.02, "p %g: %g", p, found);
	}
}

/* The second branch does what the first one did, the third one what only one of both did. */
Test(predictor, a_branch_that_others_decide_is_known)
{
	struct predictor *predictor = predictor_create();
	uint64_t state = 1, wrong[4] = {0};
	for (int turn = 0; turn < TURNS; turn++) {
		const bool a = random_number(&state) & 1, b = random_number(&state) & 1;
		const bool outcomes[4] = {a, b, a, a != b};
		for (unsigned i = 0; i < 4; i++) {
			const struct executed_branch branch = {PREDICT_CONDITIONAL, 0x1000 + 32 * i,
							       outcomes[i]};
			const struct branch_guesses guesses = predictor_take(predictor, &branch);
			wrong[i] += turn >= WARM && guesses.tage == BRANCH_WRONG;
		}
	}
	predictor_destroy(predictor);
	for (int i = 0; i < 4; i++) {
		const double share = (double)wrong[i] / (TURNS - WARM);
		if (i < 2)
			cr_expect_float_eq(share, 0.5, 0.02, "%d: %g", i, share);
		else
			cr_expect_lt(share, 0.01, "%d: %g", i, share);
	}
}

/* An interpreter: one jump that goes where a program of 20 steps says. */
Test(predictor, targets_that_come_again_are_known)
{
	struct predictor *predictor = predictor_create();
	uint64_t wrong = 0, plain = 0;
	for (uint64_t turn = 0; turn < TURNS; turn++) {
		uint64_t step = turn % 20;
		const struct executed_branch branch = {
			PREDICT_JUMP, 0x1000, .target = 0x2000 + 16 * (random_number(&step) % 8)};
		const struct branch_guesses guesses = predictor_take(predictor, &branch);
		wrong += turn >= WARM && guesses.tage == BRANCH_WRONG;
		plain += turn >= WARM && guesses.plain == BRANCH_WRONG;
	}
	predictor_destroy(predictor);
	cr_expect_lt((double)wrong / (TURNS - WARM), 0.001);
	cr_expect_gt((double)plain / (TURNS - WARM), 0.5);
}

Test(predictor, targets_by_chance_are_not)
{
	struct predictor *predictor = predictor_create();
	uint64_t state = 3, wrong = 0;
	for (uint64_t turn = 0; turn < TURNS; turn++) {
		const struct executed_branch branch = {PREDICT_CALL, 0x1000, .return_to = 0x1005,
						       .target = 0x2000 +
								 16 * (random_number(&state) % 8)};
		wrong += predictor_take(predictor, &branch).tage == BRANCH_WRONG;
		const struct executed_branch back = {PREDICT_RETURN, 0x2000, .target = 0x1005};
		cr_assert_eq(predictor_take(predictor, &back).tage, BRANCH_RIGHT);
	}
	predictor_destroy(predictor);
	cr_expect_float_eq((double)wrong / TURNS, 7 / 8., 0.01);
}

static uint64_t recurse(struct predictor *predictor, int depth)
{
	uint64_t wrong = 0;
	for (int i = 0; i < depth; i++)
		predictor_take(predictor,
			       &(struct executed_branch){PREDICT_DIRECT_CALL, 0x1000,
							 .return_to = 0x1005 + (uint64_t)i});
	for (int i = depth; i-- > 0;)
		wrong += predictor_take(predictor,
					&(struct executed_branch){PREDICT_RETURN, 0x2000,
								  .target = 0x1005 + (uint64_t)i})
				 .tage == BRANCH_WRONG;
	return wrong;
}

Test(predictor, returns_are_known_as_far_as_the_stack_is_deep)
{
	struct predictor *predictor = predictor_create();
	const struct executed_branch back = {PREDICT_RETURN, 0x2000, .target = 0x1005};
	cr_expect_eq(predictor_take(predictor, &back).tage, BRANCH_UNKNOWN);
	cr_expect_eq(recurse(predictor, RETURN_STACK), 0);
	cr_expect_eq(recurse(predictor, RETURN_STACK + 10), 10);
	cr_expect_eq(recurse(predictor, 3), 0);
	predictor_take(predictor,
		       &(struct executed_branch){PREDICT_DIRECT_CALL, 0x1000, .return_to = 7});
	predictor_gap(predictor);
	cr_expect_eq(predictor_take(predictor, &back).tage, BRANCH_UNKNOWN);
	predictor_destroy(predictor);
}

/* Branches of all kinds, some that come again and some by chance. */
static struct executed_branch any_branch(uint64_t *state, uint64_t turn, int depth)
{
	const uint64_t random = random_number(state), which = random % 12;
	struct executed_branch branch = {.place = 0x400000 + 64 * which};
	uint64_t step = turn % 29;
	if (which < 8) {
		branch.taken = which < 4   ? random_number(&step) >> which & 1
			       : which < 6 ? random >> 20 & 1
					   : random >> 20 & 7;
		return branch;
	}
	branch.kind = which < 10              ? (enum predicted_kind)(PREDICT_JUMP + which % 2)
		      : which == 10 || !depth ? PREDICT_DIRECT_CALL
					      : PREDICT_RETURN;
	branch.return_to = branch.place + 5;
	branch.target = 0x500000 + 16 * ((random >> 20) % (which == 8 ? 3 : 2));
	return branch;
}

Test(predictor, it_is_what_the_slow_one_is)
{
	for (uint64_t seed = 0; seed < 3; seed++) {
		struct predictor *predictor = predictor_create();
		struct reference_predictor *reference = reference_predictor_create();
		uint64_t state = seed;
		int depth = 0;
		for (uint64_t turn = 0; turn < 6000; turn++) {
			const struct executed_branch branch = any_branch(&state, turn, depth);
			const struct branch_guesses fast = predictor_take(predictor, &branch),
						    slow = reference_predictor_take(reference,
										    &branch);
			depth += branch.kind == PREDICT_CALL || branch.kind == PREDICT_DIRECT_CALL;
			depth -= branch.kind == PREDICT_RETURN;
			if (depth == RETURN_STACK - 1) { /* the slow one forgets no call */
				for (; depth; depth--) {
					const struct executed_branch back = {PREDICT_RETURN, 1,
									     .target = 1};
					predictor_take(predictor, &back);
					reference_predictor_take(reference, &back);
				}
			}
			cr_assert_eq(fast.tage, slow.tage, "turn %lu", (unsigned long)turn);
			cr_assert_eq(fast.plain, slow.plain, "turn %lu", (unsigned long)turn);
		}
		predictor_destroy(predictor);
		reference_predictor_destroy(reference);
	}
}
