/* The formats, one file each; errors of writing show in the stream. */
#pragma once

#include "base/error.h"
#include "report/rows/view.h"

#include <stdio.h>

struct report_view;

#define EXPORT(name, writer, check, help) \
	struct rf_error *writer(const struct report_view *view, FILE *stream);
#include "report/rows/export_formats.def"
#undef EXPORT

/* Whether there is a program that draws. */
struct rf_error *export_png_check(void);
