/* `rfprof PROGRAM ARGUMENTS`: both runs, the report, the profile. */
#pragma once

#include "base/error.h"
#include "cli/options.h"

/* words: the program and its arguments.  *status: the program's wait status. */
struct rf_error *run_command(const struct options *given, const char **words, int *status);
