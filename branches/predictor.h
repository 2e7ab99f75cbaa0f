/* The branch predictors of one core, which are told all transfers of control of a thread in their
 * order.  Nothing in them is timed. */
#pragma once

#include "branches/direction.h"
#include "branches/targets.h"

enum predicted_kind {
	PREDICT_CONDITIONAL,
	PREDICT_JUMP, /* indirect ones */
	PREDICT_CALL,
	PREDICT_RETURN,
	PREDICT_DIRECT_CALL, /* which is always right: its return will be predicted */
};

struct executed_branch {
	enum predicted_kind kind;
	uint64_t place;     /* any number that is the instruction's own, not 0 */
	bool taken;         /* PREDICT_CONDITIONAL */
	uint64_t target;    /* place that it went to; all but PREDICT_CONDITIONAL */
	uint64_t return_to; /* calls */
};

enum branch_guess {
	BRANCH_RIGHT,
	BRANCH_WRONG,
	BRANCH_UNKNOWN, /* it cannot be told: the call of a return was not seen */
};
struct branch_guesses {
	enum branch_guess tage;  /* TAGE, ITTAGE and the stack of returns */
	enum branch_guess plain; /* gshare, the target of the last time, and the same stack */
};

struct predictor {
	struct branch_history history;
	struct tage tage;
	struct gshare gshare;
	struct ittage ittage;
	struct return_stack returns;
};

/* NULL: memory is short. */
struct predictor *predictor_create(void);
void predictor_destroy(struct predictor *predictor);

/* The next transfer of control: whether it was predicted. */
struct branch_guesses predictor_take(struct predictor *predictor,
				     const struct executed_branch *branch);
/* Nothing was told for a while: calls that are awaited to return may have done so. */
void predictor_gap(struct predictor *predictor);
