/* The in-core part of code that is no innermost loop, or of one of whose instructions not enough is
 * known (measured_core.h): a lower bound. */
#pragma once

#include "report/in_core/in_core.h"

/* The in-core part of the own code of a loop of `f` (an index in f->loops; without the loops
 * within), or of its code that is in no loop (PROFILE_NONE; its turn is all of it).  False: it
 * cannot be told, since nothing of it was counted, or the clock is not known. */
bool ecm_in_core(const struct profile *profile, const struct model_function *f, uint32_t loop,
		 struct in_core *in_core);
