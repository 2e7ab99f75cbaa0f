/* The executed code of a function as a graph with its loops, of a profile alone: for those who look
 * at loops after the model has been built. */
#pragma once

#include "insn/way.h"
#include "report/model/flow_graph.h"

struct function_code {
	const struct profile *profile;
	int64_t *executions; /* per block */
	uint32_t *blocks;    /* those that were executed, by (module, start) */
	size_t n_blocks;
};

/* Fails only when memory is short, as all of this. */
struct rf_error *function_code_init(const struct profile *profile, struct function_code *code);
void function_code_deinit(struct function_code *code);

/* Adds the code of the function, row `row` in
 * profile->functions, to an empty graph, and its loops to function->loops, which is empty, in the
 * order of struct model's (with their turns and entries, without their figures).  The caller clears
 * the graph and frees the loops. */
struct rf_error *function_code_graph(const struct function_code *code, uint32_t row,
				     struct flow_graph *graph, struct model_function *function);

/* The most frequent way through a turn of innermost loop number `loop` of the function, whose graph
 * is given: its instructions in `steps`, which has room for `most`, with their bytes in the
 * profile's blocks.  Returns how many; 0: there is none of so many, or memory is short. */
size_t loop_way(const struct profile *profile, const struct flow_graph *graph,
		const struct model_function *function, uint32_t loop, struct way_step *steps,
		size_t most);
