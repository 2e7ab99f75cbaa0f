/* What the accounts of a function are made from. */
#pragma once

#include "report/ecm/piece.h"

/* Looks at the code of `f` and at what is known of it; `sampled`: only if it has samples is its
 * code looked at, else what is known of all code holds.  Fails only when memory is short; deinit in
 * any case. */
struct rf_error *ecm_context_init(struct ecm_context *context, const struct ecm_machine *machine,
				  const struct profile *profile, const struct model *model,
				  const struct model_function *f, bool sampled);
void ecm_context_deinit(struct ecm_context *context);
