/* The instructions of functions, for the page. */
#pragma once

#include "report/rows/code.h"

struct json_t;

/* The instructions of a function that were executed, by their offsets, at most `most`; null where
 * there are none or more; NULL: no memory.  Fields: line_json() in html_code.c. */
struct json_t *html_code_of(const struct code *code, const struct model_function *f, size_t most);
