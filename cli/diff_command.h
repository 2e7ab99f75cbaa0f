/* `rfprof diff A B`: what has changed from one profile to another. */
#pragma once

#include "base/error.h"
#include "cli/options.h"

/* words: the files of A and B.  The table goes to standard output, unless that has something else;
 * conditions of --fail-on that are met are said on standard error.  *status: a wait status, exit 3
 * where one is. */
struct rf_error *diff_command(const struct options *given, const char **words, int *status);
