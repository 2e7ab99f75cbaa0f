/* Which function a user means. */
#pragma once

#include "report/rows/view.h"

/* *found by `name`: the number of its row in the table; its name, whole or in a short form
 * (short_names.h); a part that only one has, or only one that took time; or such a name of a
 * function that was inlined in it.  Where several are called the same, the first in the ranking. An
 * error names candidates where none or several are meant. */
struct rf_error *find_function(const struct report_view *view, const char *name,
			       const struct model_function **found);
