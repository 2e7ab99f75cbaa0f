/* The one line of advice: what costs most of a run's wall time, and what one would try. */
#pragma once

#include "report/rows/view.h"

/* *text: to be freed; NULL where nothing stands out.  Names in it are as the profile has them.
 * Fails only when memory is short. */
struct rf_error *report_advice(const struct report_view *view, char **text);
