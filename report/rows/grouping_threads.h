/* Rows that are threads or processes. */
#pragma once

#include "report/rows/groups.h"

/* An error only when memory is short. */
struct rf_error *grouping_threads(struct maker *maker);
