/* One function of the report as JSON. */
#pragma once

#include "report/json/json_writer.h"
#include "report/rows/view.h"

/* Where its members go.  Both writers may be one. */
struct json_function_out {
	struct json_writer *listed; /* what lists and pictures of functions need */
	struct json_writer *rest;
	bool whole; /* or without its reasons and loops, which a page has in another form */
};

/* Writes the members of an object that is begun.  Errors: memory is short. */
struct rf_error *report_json_function(const struct json_function_out *to,
				      const struct report_view *view,
				      const struct model_function *f);

/* Seconds of several runs; null where there was one. */
void report_json_runs(struct json_writer *out, const char *key, const struct model_runs *runs);
