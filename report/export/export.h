/* The report as files for other programs; docs/exports.md says what is in them. */
#pragma once

#include "base/error.h"
#include "report/rows/view.h"

/* The writers of the formats, each in export_NAME.c; errors of writing show in the stream. */
#define EXPORT(name, writer, ...) report_format writer;
#include "report/rows/export_formats.def"
#undef EXPORT

/* Whether there is a program that draws. */
struct rf_error *export_png_check(void);
/* SVG in a file without a name, which was written to its end, as PNG. */
struct rf_error *export_png_convert(FILE *svg, FILE *to);

/* Before anything is run: whether what was asked for can be made here.  Does not look at the files.
 */
struct rf_error *export_check(const struct export_paths *paths);

/* Writes all that were asked for. */
struct rf_error *export_write(const struct report_view *view, const struct export_paths *paths);
