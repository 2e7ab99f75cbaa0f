/* Why functions and loops take their time (--ecm). */
#pragma once

#include "report/text/page.h"

/* A table of the functions that are shown, each with its loops that take much of its time.  Fails
 * only when memory is short. */
struct rf_error *report_ecm(const struct report_view *view, FILE *stream);

/* The time account of a page's function, in words, and the turns of its loops. */
void page_account(struct page *page);
