/* The comparison for a terminal. */
#pragma once

#include "report/diff/diff.h"

#include <stdio.h>

/* names: how A and B are called; top: rows, 0: 20.  Fails only when memory is short. */
struct rf_error *diff_table(const struct diff *diff, const char *const names[2], size_t top,
			    FILE *stream);
