/* Accounts of loops together with the short functions that they call
 * (report/in_core/joined_calls.h). The core does the work of both at once, and for which of them a
 * sample is told depends on which instruction it is that others wait behind.  So there is one
 * account of all, and loop and functions take as much of it as of the measured time. */
#pragma once

#include "report/ecm/piece.h"

/* Whether loop number `loop` has one. */
static inline bool ecm_is_joined(const struct ecm_context *context, uint32_t loop)
{
	return context->cores[loop].t_ol >= 0 && context->cores[loop].calls == CALLS_JOINED;
}

/* Of such a loop with what it calls, in *all, with what was measured of these: of each function as
 * much as of its executions are for the loop.  *own: the share of it that is the loop's.  Fails
 * only when memory is short. */
struct rf_error *ecm_joined_account(const struct ecm_context *context, uint32_t loop,
				    struct ecm_account *all, double *own);

/* Adds what the function of `context`, which has no loop, takes of all accounts of loops that it is
 * part of; *covered: as large a share of its executions was for these, 0 to 1.  Fails only when
 * memory is short. */
struct rf_error *ecm_add_from_loops(const struct ecm_context *context, struct ecm_account *sum,
				    double *covered);
