/* The code of a function for those who look at what it takes in the core. */
#pragma once

#include "insn/insn_cache.h"
#include "report/in_core/line_crossings.h"
#include "report/in_core/stored_loads.h"
#include "report/model/flow_graph.h"
#include "report/model/model.h"

/* The code of a function, as the model has found it. */
struct in_core_code {
	const struct profile *profile;
	struct insn_cache *insns;
	const struct flow_graph *graph;     /* of the function, with its loops found */
	const struct profile_function *row; /* its own in the profile */
	const struct model_function *function;
	const struct line_crossings *crossings; /* NULL: not known */
	const struct stored_loads *stored;      /* NULL: not known */
};

/* What the instruction at a node of the graph reads, writes and computes; NULL: its bytes cannot be
 * decoded.  Valid as long as code->insns. */
const struct dataflow *core_dataflow_at(const struct in_core_code *code, uint32_t node);
/* Whether `loop`, an index in function->loops or PROFILE_NONE, is `outer` or lies within it. */
bool core_is_within(const struct model_function *function, uint32_t loop, uint32_t outer);
