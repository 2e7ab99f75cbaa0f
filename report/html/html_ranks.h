/* Ranks of a page: what their report says of them, and the heat map of their times by function. */
#pragma once

#include "report/rows/view.h"

#include <stdio.h>

/* A section that needs no scripts.  Nothing for a profile without ranks.  Errors: memory is short.
 */
struct rf_error *html_write_ranks(const struct report_view *view, FILE *out);
