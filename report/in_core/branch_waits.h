/* How long mispredicted branches wait for what decides them. */
#pragma once

#include "base/error.h"
#include "machine/data/core_facts.h"
#include "report/in_core/core_code.h"

/* Cycles a turn of the innermost loop number `loop` by which its mispredicted branches take longer
 * than the one that the cost of a misprediction was measured with, which looks at what one load
 * brings: where addresses must be computed first, or are loaded, the right way is known later.
 * `turn_cycles`: what a turn takes in the core without mispredictions.  Fails only when memory is
 * short. */
struct rf_error *branch_waits(const struct core_facts *facts, const struct in_core_code *code,
			      uint32_t loop, double turn_cycles, double *cycles);
