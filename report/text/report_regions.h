/* How evenly parallel regions share out their work, below the tables of threads and waits. */
#pragma once

#include "report/rows/view.h"

#include <stdio.h>

/* A line for each region that takes some time, in the order of the profile. */
struct rf_error *report_regions(const struct report_view *view, FILE *stream);
