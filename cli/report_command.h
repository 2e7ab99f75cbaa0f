/* `rfprof report FILE`: a saved profile, drawn again. */
#pragma once

#include "base/error.h"
#include "cli/options.h"

/* words: the profile's file.  The table goes to standard output; *status stays as it is. */
struct rf_error *report_command(const struct options *given, const char **words, int *status);
