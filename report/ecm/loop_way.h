/* The code of a turn of a loop, for those who run it by itself or read it. */
#pragma once

#include "insn/way.h"
#include "report/model/flow_graph.h"

/* The most frequent way through a turn of innermost loop number `loop` of the function, whose graph
 * is given: its instructions in `steps`, which has room for `most`, with their bytes in the
 * profile's blocks.  Returns how many; 0: there is none of so many, or memory is short. */
size_t loop_way(const struct profile *profile, const struct flow_graph *graph,
		const struct model_function *function, uint32_t loop, struct way_step *steps,
		size_t most);
