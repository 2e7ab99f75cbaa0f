/* Why a point is above its roof, as far as the facts tell. */
#pragma once

#include "report/rows/view.h"

struct above_reason {
	const char *why, *try;
};

/* The first that holds, of a function whose place is `above`; "it is above its roof: " comes before
 * `why`. */
struct above_reason report_above_reason(const struct report_view *view,
					const struct model_function *f);
