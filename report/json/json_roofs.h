/* The roofs as JSON: the rows that were measured, and those that views show by name. */
#pragma once

#include "report/rows/view.h"

#include <jansson.h>

/* NULL, or an array that lacks rows: memory is short. */
json_t *report_json_roofs(const struct profile *profile);
json_t *report_json_custom_roofs(const struct profile *profile);
/* What moves at most at a level, by mix and count of threads: the roofs of all views. */
json_t *report_json_bandwidths(const struct profile *profile);
/* The highest rate of each precision, by count of threads. */
json_t *report_json_peaks(const struct profile *profile);
