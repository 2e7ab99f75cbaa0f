/* Work by hardware counters beside counted work. */
#pragma once

#include "report/model/model.h"

/* Whether a run has both: counted execution and hardware counters. */
bool model_has_both(const struct profile *profile);
/* Flop by the PMU per flop counted, all lanes taken as active on both sides; NAN where one of them
 * has nothing. */
double model_flop_ratio(const struct model *model, const struct model_function *f);
/* Instructions by the PMU per instruction counted; NAN where one of them has nothing. */
double model_instruction_ratio(const struct model *model, const struct model_function *f);
