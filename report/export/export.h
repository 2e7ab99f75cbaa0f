/* The report as files for other programs; docs/exports.md says what is in them. */
#pragma once

#include "base/error.h"
#include "report/rows/view.h"

#include <stdbool.h>
#include <stdio.h>

struct report_view;

/* Before anything is run: whether what was asked for can be made here.  Does not look at the files.
 */
struct rf_error *export_check(const struct export_paths *paths);

/* Writes all that were asked for. */
struct rf_error *export_write(const struct report_view *view, const struct export_paths *paths);
