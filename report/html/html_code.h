/* The instructions of functions, each with how often it ran and what it did: for pages. */
#pragma once

#include "report/json/json_writer.h"
#include "report/rows/code.h"

/* An array with a row for each instruction of a function; null where it was not counted, or has
 * more than `most`.  *n gets how many were written.  Errors: memory is short. */
struct rf_error *html_code_put(struct json_writer *out, const char *key, const struct code *code,
			       const struct model_function *f, size_t most, size_t *n);
