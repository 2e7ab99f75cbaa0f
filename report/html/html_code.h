/* The instructions of functions, each with how often it ran and what it did: for pages. */
#pragma once

#include "report/json/json_writer.h"
#include "report/rows/code.h"

/* The instructions of a function; 0 where it was not counted. */
size_t html_code_lines(const struct code *code, const struct model_function *f);
/* An array with a row for each of them.  Errors: memory is short. */
struct rf_error *html_code_put(struct json_writer *out, const char *key, const struct code *code,
			       const struct model_function *f);
