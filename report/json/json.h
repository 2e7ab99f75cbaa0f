/* The report as JSON (docs/report.schema.json). */
#pragma once

#include "report/rows/view.h"

struct json_t;

/* json.c: all but the functions; one function. */
struct json_t *report_json_head(const struct report_view *view);
struct json_t *report_json_function(const struct report_view *view, const struct model_function *f);
struct json_t *report_json_real(double value);
struct json_t *report_json_count(uint64_t value);
struct json_t *report_json_string(const char *text);

struct rf_error *report_json(const struct report_view *view, FILE *stream);
