/* The source text of a page, as one element of JSON. */
#pragma once

#include "report/rows/view.h"

#include <stdio.h>

/* Nothing where the profile has none.  Errors: memory is short. */
struct rf_error *html_write_sources(const struct report_view *view, FILE *stream);
/* Place of a file among those of that element, or PROFILE_NONE.  *hint: what was found before, 0 at
 * first, since neighbours are mostly of one file. */
uint32_t html_source_of(const struct profile *profile, const char *file, uint32_t *hint);
