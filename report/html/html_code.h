/* The instructions of functions, for the page. */
#pragma once

#include "report/rows/view.h"

struct json_t;

/* The instructions of functions, one compact array each; index and result by `create`
 * are NULL when memory is short. */
struct html_code;
struct html_code *html_code_create(const struct report_view *view);
void html_code_destroy(struct html_code *code);
/* The instructions of a function that were executed, by their offsets, at most `most`; null where
 * there are none or more.  Fields: enum html_code_field in html_code.c. */
struct json_t *html_code_of(struct html_code *code, const struct model_function *f, size_t most);
