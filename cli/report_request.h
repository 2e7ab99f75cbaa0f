/* What a command line asks of a report: for `rfprof PROGRAM` and `rfprof report`. */
#pragma once

#include "base/error.h"
#include "cli/options.h"
#include "report/rows/report_options.h"

/* Fills the options of a report, whose strings are those of `given`.  RF_EINPUT where they do not
 * go together. */
struct rf_error *report_request(const struct options *given, struct report_options *options);
