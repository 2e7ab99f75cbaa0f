/* The figures that say why a function is where it is under the roofs; report/reasons puts them into
 * words. */
#pragma once

#include "report/model/model.h"

/* Shares are in percent, rates in GFLOP/s or 1e9 bytes per second.  A figure that is not known is
 * 0 or NAN, so that no reason holds because of it. */
struct model_evidence {
	/* Of its flop. */
	double width[FLOP_WIDTHS], kind[FLOP_KINDS], precision[FLOP_PRECISIONS];
	double slow;    /* divisions and square roots */
	double fusible; /* additions and multiplications, as far as one of each could be fused */
	double masked;  /* of all vector lanes: masked off */
	/* The width of most of its flop, and the measured rates: of scalar code in its mix, of
	 * fused multiply-adds in that width and in the widest one; 0: none was measured. */
	enum flop_width main_width;
	double scalar_top, own_top, widest_top;

	/* Of its instructions. */
	double ipc;         /* in a cycle of the measured clock; NAN without a clock or time */
	double issue_width; /* at most so many */
	double transfers;   /* share of branches, calls and returns */

	/* Of its data. */
	/* The level whose bandwidth its roof stands on; NULL: a compute roof, or nothing is known
	 * to have moved there. */
	const struct model_level *level;
	double bandwidth_used;     /* of that level's */
	double irregular, strided; /* of the steps between its addresses */
	double used;               /* of the bytes that it brings in from memory; NAN: none */
	double evadable; /* of its memory traffic: lines read only to be overwritten whole */
	bool would_fit;  /* a larger cache would spare much of its memory traffic */

	/* The innermost loop with most time among those that turn few times when they are entered,
	 * or NULL; found only where the model has loops. */
	const struct model_loop *short_loop;
};

struct model_evidence model_evidence(const struct profile *profile, const struct model_function *f);
