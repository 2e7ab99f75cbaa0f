/* The account of a run as JSON; docs/report.schema.json says what it means. */
#pragma once

#include "report/json/json_writer.h"
#include "report/rows/view.h"

/* "account" of the run, and what costs most of its wall time. */
void report_json_account(struct json_writer *out, const char *key, const struct report_view *view);
/* Arrays. */
void report_json_threads(struct json_writer *out, const char *key, const struct report_view *view);
void report_json_waits(struct json_writer *out, const char *key, const struct report_view *view);
void report_json_regions(struct json_writer *out, const char *key, const struct report_view *view);
void report_json_calls(struct json_writer *out, const char *key, const struct report_view *view);
