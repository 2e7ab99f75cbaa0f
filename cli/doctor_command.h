/* `rfprof doctor`: what works here, what each lack costs, and what to do about it. */
#pragma once

#include "base/error.h"

#include <stdbool.h>

/* Looks and writes a table, or JSON, to standard output.  *possible: `rfprof PROGRAM` can make a
 * full profile here. */
struct rf_error *doctor_command(bool json, bool *possible);
