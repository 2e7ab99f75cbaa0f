/* What each change of its loops would save a program: the accounts of all its functions together.
 */
#pragma once

#include "report/ecm/loop_account.h"

struct ecm_potential {
	enum ecm_change change;
	double saved_s;                    /* processor time, of all functions with samples */
	const struct model_function *most; /* whose code would save most of it */
	double most_s;                     /* so much of saved_s */
};

/* The changes that would save at least ECM_WORTH of the measured time, the largest first; *n: how
 * many: none without a machine (NULL).  `model` has loops.  Fails only when memory is short. */
#define ECM_WORTH 0.01
struct rf_error *ecm_potentials(const struct ecm_machine *machine, const struct profile *profile,
				const struct model *model,
				struct ecm_potential potentials[ECM_CHANGES], size_t *n);

/* Whether a change of a loop, or a function, is worth telling of: a twentieth of its time. */
bool ecm_is_worth_telling(const struct ecm_account *account, enum ecm_change change);
