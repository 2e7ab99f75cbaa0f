/* The chain of results that goes from turn to turn of a loop, and lasts longest. */
#pragma once

#include "machine/data/core_facts.h"
#include "report/in_core/core_code.h"

struct core_chain {
	/* Cycles a turn of the loop, with the loops within: as if it went on and on; what is left
	 * of it where the loop is left before the reorder buffer is full. */
	double lcd, left;
	/* Loads a turn that it goes through by their addresses: none of them begins before the one
	 * before it has ended.  Of an innermost loop. */
	double loads;
};

/* Of the function's loop number `loop`.  Fails only when memory is short. */
struct rf_error *core_chain(const struct core_facts *facts, const struct in_core_code *code,
			    uint32_t loop, struct core_chain *chain);
