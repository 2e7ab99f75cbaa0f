/* Joins direction, targets and history. */
#include "branches/predictor.h"

#include <stdlib.h>

struct predictor *predictor_create(void)
{
	struct predictor *predictor = calloc(1, sizeof(*predictor));
	if (!predictor)
		return NULL;
	tage_init(&predictor->tage);
	ittage_init(&predictor->ittage);
	return predictor;
}

void predictor_destroy(struct predictor *predictor)
{
	free(predictor);
}

void predictor_gap(struct predictor *predictor)
{
	predictor->returns = (struct return_stack){0};
}

static enum branch_guess guess(bool right)
{
	return right ? BRANCH_RIGHT : BRANCH_WRONG;
}

static struct branch_guesses take_conditional(struct predictor *predictor,
					      const struct executed_branch *branch)
{
	const struct branch_history *history = &predictor->history;
	const bool tage = tage_take(&predictor->tage, history, branch->place, branch->taken);
	const bool plain = gshare_take(&predictor->gshare, history, branch->place, branch->taken);
	history_push(&predictor->history, branch->taken);
	return (struct branch_guesses){guess(tage == branch->taken), guess(plain == branch->taken)};
}

static struct branch_guesses take_indirect(struct predictor *predictor,
					   const struct executed_branch *branch)
{
	bool last;
	const bool right = ittage_take(&predictor->ittage, &predictor->history, branch->place,
				       branch->target, &last);
	const uint64_t bits = history_mix(0, branch->target) >> 62;
	history_push(&predictor->history, bits & 1);
	history_push(&predictor->history, bits >> 1 & 1);
	return (struct branch_guesses){guess(right), guess(last)};
}

static struct branch_guesses take_return(struct predictor *predictor,
					 const struct executed_branch *branch)
{
	static const enum branch_guess as[] = {
		[RETURN_RIGHT] = BRANCH_RIGHT,
		[RETURN_WRONG] = BRANCH_WRONG,
		[RETURN_UNKNOWN] = BRANCH_UNKNOWN,
	};
	const enum branch_guess found =
		as[return_stack_return(&predictor->returns, branch->target)];
	return (struct branch_guesses){found, found};
}

struct branch_guesses predictor_take(struct predictor *predictor,
				     const struct executed_branch *branch)
{
	struct branch_guesses guesses = {BRANCH_RIGHT, BRANCH_RIGHT};
	switch (branch->kind) {
	case PREDICT_CONDITIONAL:
		return take_conditional(predictor, branch);
	case PREDICT_RETURN:
		return take_return(predictor, branch);
	case PREDICT_JUMP:
		return take_indirect(predictor, branch);
	case PREDICT_CALL:
		guesses = take_indirect(predictor, branch);
		break;
	default:
		break;
	}
	return_stack_call(&predictor->returns, branch->return_to);
	return guesses;
}
