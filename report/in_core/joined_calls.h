/* Loops that call short functions, as one piece of code.  A core has as many instructions under way
 * as its reorder buffer holds, whichever function they are of: a chain goes through a call's
 * arguments and results, and what the caller does is done beside what the callee waits for.  So the
 * code of what a loop calls is put in where it is called, and the loop is looked at with it.  What
 * is called and executes more than a reorder buffer holds is left as it is: it has next to nothing
 * under way together with the loop. */
#pragma once

#include "report/in_core/call_targets.h"
#include "report/in_core/in_core.h"

/* Puts what the innermost loop number `loop` calls, and what that calls, into *graph, a copy of
 * code->graph with the loop's nodes where they are, and sets the `calls` and `joined` of `core`.
 * *graph is empty where nothing is to be put in, or not all of it is known; the caller
 * deinitialises it.  Fails only when memory is short. */
struct rf_error *joined_calls_put_in(const struct function_code *functions,
				     const struct call_targets *targets,
				     const struct in_core_code *code, uint32_t loop,
				     struct flow_graph *graph, struct in_core *core);
