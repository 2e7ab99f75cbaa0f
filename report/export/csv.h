/* Functions as comma-separated values (RFC 4180). */
#pragma once

#include "report/rows/view.h"

/* docs/exports.md says what is in it; errors of writing show in the stream. */
struct rf_error *export_csv(const struct report_view *view, FILE *stream);
