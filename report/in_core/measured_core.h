/* The in-core parts of a function's innermost loops, from what forms of instructions take on the
 * machine of the profile (in_core.h). */
#pragma once

#include "report/in_core/call_targets.h"
#include "report/in_core/in_core.h"

struct core_results;

/* What all functions of a profile need for it. */
struct measured_core {
	struct core_facts facts;
	struct function_code code;
	struct call_targets targets;
	struct line_crossings crossings;
	struct stored_loads stored;
	struct core_results *results; /* of functions that were looked at */
};

/* Fails only when memory is short; deinit in any case. */
struct rf_error *measured_core_init(const struct profile *profile, struct measured_core *measured);
void measured_core_deinit(struct measured_core *measured);

/* Fills cores[i] for each innermost loop i of `f` (f->n_loops of them); where more than a tenth of
 * its instructions are of forms that nobody has measured, with what code of unknown forms takes at
 * least (in_core_source.h) as far as that is longer.  All others get t_ol < 0.  Of a loop that
 * calls short functions the figures are of both together (joined_calls.h).  From any thread.  Fails
 * only when memory is short. */
struct rf_error *measured_core_of(const struct measured_core *measured,
				  const struct model_function *f, struct in_core *cores);
