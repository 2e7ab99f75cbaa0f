/* Python functions as JSON. */
#pragma once

#include "report/json/json_writer.h"
#include "report/rows/view.h"

/* An array of all that have time, by their own time; empty where nothing of Python was seen.  Fails
 * only when memory is short. */
struct rf_error *report_json_python(struct json_writer *out, const char *key,
				    const struct report_view *view);
