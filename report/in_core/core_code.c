/* Nodes of the graph as instructions, and loops within loops. */
#include "report/in_core/core_code.h"

bool core_is_within(const struct model_function *function, uint32_t loop, uint32_t outer)
{
	while (loop != PROFILE_NONE && loop != outer)
		loop = function->loops[loop].parent;
	return loop == outer;
}

const struct dataflow *core_dataflow_at(const struct in_core_code *code, uint32_t index)
{
	const struct flow_node *node = &code->graph->nodes[index];
	const struct profile_block *block = &code->profile->blocks[node->block];
	return insn_cache_dataflow(code->insns, block->bytes + node->at, block->size - node->at);
}
