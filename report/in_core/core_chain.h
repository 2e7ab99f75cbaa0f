/* The chain of results that goes from turn to turn of a loop, and lasts longest. */
#pragma once

#include "machine/data/core_facts.h"
#include "report/in_core/core_code.h"

/* In cycles a turn of the function's loop number `loop`, with the loops within: *lcd as if the loop
 * went on and on; *left: what is left of it where the loop is left before the reorder buffer is
 * full.  Fails only when memory is short. */
struct rf_error *core_chain(const struct core_facts *facts, const struct in_core_code *code,
			    uint32_t loop, double *lcd, double *left);
