/* The data of a page, as elements of JSON for its scripts. */
#pragma once

#include "report/rows/view.h"

#include <stdio.h>

/* Of the page's own profile. */
struct rf_error *html_write_data(const struct report_view *view, FILE *out);
/* Of the profile that it is compared with; nothing where there is none. */
struct rf_error *html_write_compared(const struct report_view *view, FILE *out);
