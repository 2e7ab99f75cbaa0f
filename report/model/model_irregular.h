/* Which lines a function gets by loads at irregular addresses, and which of these loads wait for
 * one another. */
#pragma once

#include "insn/insn_cache.h"
#include "report/model/flow_graph.h"
#include "report/model/model_roofs.h"

/* An instruction most of whose addresses follow no step. */
struct irregular_load {
	uint32_t module;
	uint64_t offset;
	/* lines that crossed the border of each level, L1 to DRAM; at L1 executions */
	double reads[MODEL_LEVELS];
};

/* Those of a profile whose traffic was traced; of others none. */
struct irregular_loads {
	const struct profile *profile;
	struct irregular_load *loads; /* by module, then by offset */
	size_t n_loads, cap_loads;
};

/* Fails only when memory is short; deinit in any case. */
struct rf_error *irregular_loads_init(struct irregular_loads *loads, const struct profile *profile,
				      const struct model *model);
void irregular_loads_deinit(struct irregular_loads *loads);

/* Fills `irregular` in the function's traffic and in its loops, by its graph, whose loops the
 * function has, in `module`.  Fails only when memory is short. */
struct rf_error *model_read_irregular(const struct irregular_loads *loads, struct insn_cache *insns,
				      uint32_t module, const struct flow_graph *graph,
				      struct model_function *function);

/* That of a function, elapsed.  Where its loads cannot have waited so long, since the function took
 * less time than that, a chain is taken for loads that do not wait for each other, and these for a
 * stream. */
struct model_wait model_wait_of(const struct profile *profile,
				const struct model_function *function);
