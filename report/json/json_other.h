/* Another machine's caches (--other-caches) as JSON. */
#pragma once

#include "report/json/json_writer.h"
#include "report/rows/view.h"

/* What would move there, in all and by function; null where no such caches were simulated.  Fails
 * only when memory is short. */
struct rf_error *report_json_other_caches(struct json_writer *out, const char *key,
					  const struct report_view *view);
