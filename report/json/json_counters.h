/* Hardware counters as JSON. */
#pragma once

#include "report/rows/view.h"

struct json_t;

/* The hardware counters; what they say of a function; and set beside what was
 * counted. */
struct json_t *report_json_counters(const struct report_view *view);
struct json_t *report_json_quantities(const struct report_view *view,
				      const struct model_function *f);
void report_json_ratios(struct json_t *object, const struct report_view *view,
			const struct model_function *f);
