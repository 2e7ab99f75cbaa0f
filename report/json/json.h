/* The report as JSON (docs/report.schema.json). */
#pragma once

#include "report/rows/view.h"

struct json_t;

/* All but the functions; one function. */
struct json_t *report_json_head(const struct report_view *view);
struct json_t *report_json_function(const struct report_view *view, const struct model_function *f);
/* All of it.  Fails only when memory is short. */
struct rf_error *report_json(const struct report_view *view, FILE *stream);
