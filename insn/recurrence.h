/* The longest recurrence of a loop: the chain of dependent instructions, through registers and
 * memory, that goes from turn to turn and lasts longest.  No processor of any width turns faster.
 *
 * Of one turn it is found how long the way is from each value at its start to each value at its
 * end; the longest mean way on a circle through these is the recurrence (Karp 1978, A
 * characterization of the minimum cycle mean in a digraph), which may take several turns to come
 * back to where it was. */
#pragma once

#include "base/error.h"
#include "insn/dataflow.h"

/* An instruction on the way through a turn.  Latencies are in whatever unit the caller likes. */
struct recurrence_step {
	const struct dataflow *flow;
	uint64_t end;                        /* the offset behind it */
	uint32_t latency[FORM_OPERANDS + 1]; /* from each operand of the form, and FORM_HIDDEN */
	uint32_t load;                       /* from an address to what is loaded */
	uint32_t forward;                    /* from a store of the same place to what is loaded */
	/* The step, plus 1, whose store it was seen to load from, so many turns before; 0: not
	 * seen, but the places may tell. */
	uint32_t stored_by, stored_turns;
};

struct recurrence {
	uint64_t cycles; /* in the caller's unit, of `turns` turns together; 0: there is none */
	uint32_t turns;
	uint64_t by_kind[STEP_KINDS]; /* of these; loads and what memory costs are STEP_LOAD */
	uint32_t loads;               /* so many lead to an address that the next one needs */
	bool memory;                  /* it passes through a place that is stored and loaded */
};

/* `steps`: of one turn, in their order.  A place in memory is known again where its registers stay
 * as they are from turn to turn or move on by a constant, or where loads were seen to come behind
 * a store, up to seven turns back.  Fails only when memory is short. */
struct rf_error *recurrence_find(const struct recurrence_step *steps, size_t n,
				 struct recurrence *out);
