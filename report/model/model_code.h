/* What the code of a function shows of why it takes its time: chains of instructions that wait for
 * each other from turn to turn, products that could be added in the same instruction, branches that
 * go either way, loops that pause. */
#pragma once

#include "insn/insn_cache.h"
#include "report/model/flow_graph.h"

/* Turns an entry, below which the start and the end of a loop are felt. */
#define MODEL_SHORT_LOOP 16

/* Fills function->code from the graph, whose loops were found; the times of the loops are known.
 * `code`: the function's own row in the profile.  Fails only when memory is short. */
struct rf_error *model_read_code(const struct profile *profile, struct insn_cache *insns,
				 const struct flow_graph *graph,
				 const struct profile_function *code,
				 struct model_function *function);

/* Whether it takes its time to wait until other threads or processes are done, without giving up
 * the processor for long: in loops that pause or call sched_yield, or in a library of those that
 * are known to poll.  Its name, module, counts and code are known. */
bool model_waits(const struct profile *profile, const struct model_function *function);

/* How often the branch at that place was mispredicted by simulated predictors, in all of its
 * executions (docs/branches.md); 0: never, or nobody knows. */
double model_mispredicted(const struct profile *profile, uint32_t module, uint64_t offset);
