/* The report as JSON (docs/report.schema.json). */
#pragma once

#include "report/json/json_writer.h"
#include "report/rows/view.h"

/* All members but the functions, into an object that is begun. */
void report_json_head(struct json_writer *out, const struct report_view *view);
/* All of it.  Fails only when memory is short. */
struct rf_error *report_json(const struct report_view *view, FILE *stream);
