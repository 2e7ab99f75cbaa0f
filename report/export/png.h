/* The roofline plot as PNG, drawn by rsvg-convert. */
#pragma once

#include "report/rows/view.h"

/* docs/exports.md says what is in it; errors of writing show in the stream. */
struct rf_error *export_png(const struct report_view *view, FILE *stream);

/* Before anything is run: an error where there is no program that draws. */
struct rf_error *export_png_check(void);
