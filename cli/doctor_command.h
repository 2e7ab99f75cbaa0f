/* `rfprof doctor`: what works here, what each lack costs, and what to do about it. */
#pragma once

#include "base/error.h"
#include "cli/options.h"

/* words: none.  Looks and writes a table, or JSON, to standard output.  *status: a wait status,
 * exit 0 where `rfprof PROGRAM` can make a full profile here, else 1. */
struct rf_error *doctor_command(const struct options *given, const char **words, int *status);
