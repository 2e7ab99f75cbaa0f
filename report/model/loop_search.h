/* The loops in the control flow graph of a function. */
#pragma once

#include "report/model/flow_graph.h"
#include "report/model/model.h"

/* Adds the loops of `function`, the outer ones before those within, to function->loops: where they
 * are, how often they turned and were entered.  Each node of the graph gets its innermost loop.
 * `code`: the function's own row in the profile.  Fails only when memory is short. */
struct rf_error *loop_search(struct flow_graph *graph, const struct profile_function *code,
			     struct model_function *function);
