/* Where the wall time went, in the head of the report, and what was waited for. */
#pragma once

#include "report/rows/view.h"

#include <stdio.h>

/* "0.87 s wall, 0.7 of 2 processors busy: 0.22 s user, 0.34 s kernel, 0.30 s waiting", behind " ·
 * ". Parts below a hundredth are left out. */
void report_put_account(const struct report_view *view, FILE *stream);
/* A line with the processors that were busy over time; nothing for short runs. */
struct rf_error *report_strip(const struct report_view *view, FILE *stream);
/* The table of --by=group: what is one cost under many names. */
struct rf_error *report_groups(const struct report_view *view, FILE *stream);
/* The table of --by=wait. */
struct rf_error *report_waits(const struct report_view *view, FILE *stream);
