/* What a function needs at least for each thing that it does, and what it could save. */
#pragma once

#include "report/reasons/evidence.h"

/* Fills evidence->needs and evidence->saved; all else of it is known. */
void model_add_worth(const struct profile *profile, const struct model_function *f,
		     struct model_evidence *evidence);
