/* Why a function is below its roof, in plain words with the figures that say so, and what one would
 * try. */
#pragma once

#include "report/rows/view.h"

struct reason {
	char *what, *try; /* not clean */
};
struct reasons {
	struct reason *items;
	size_t n_items, cap_items;
	bool failed;
};

/* What holds the function comes first, what explains it next, what limits the answer last.
 * `reasons` is empty before; failed: memory was short. */
void report_reasons(const struct report_view *view, const struct model_function *f,
		    struct reasons *reasons);
void reasons_deinit(struct reasons *reasons);

/* Shares of a function's flop, in percent. */
struct flop_shares {
	double width[FLOP_WIDTHS], kind[FLOP_KINDS], precision[FLOP_PRECISIONS];
};
struct flop_shares report_flop_shares(const struct tally *tally);
/* Instructions per cycle at the measured clock; NAN where that is not known. */
double report_ipc(const struct report_view *view, const struct model_function *f);
