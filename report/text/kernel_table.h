/* The table of kernels (--kernel). */
#pragma once

#include "report/rows/view.h"

/* What calls of each kernel did; nothing where none was asked for. */
struct rf_error *report_kernels(const struct report_view *view, FILE *stream);
