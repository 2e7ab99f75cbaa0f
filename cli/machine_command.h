/* `rfprof machine`: the roofs as a table, as JSON, as a picture, and the custom roofs. */
#pragma once

#include "base/error.h"
#include "cli/options.h"

/* words: none.  The output goes to standard output, warnings and progress to standard error;
 * *status stays as it is. */
struct rf_error *machine_command(const struct options *given, const char **words, int *status);
