/* From a profile to what the user sees: all that is asked for, in all formats. */
#pragma once

#include "base/error.h"
#include "report/rows/report_options.h"

#include <stdio.h>

struct machine;

/* Writes what options ask for: the table, or the page about a function, to `stream` (NULL: not),
 * and the files.  An error where a file cannot be written, options->function is not one function,
 * or memory is short. */
struct rf_error *report_write(const struct profile *profile, const struct report_options *options,
			      FILE *stream);
/* Draws the empty roofline plot of a machine to the file `path`. */
struct rf_error *report_machine_svg(const struct machine *machine, const char *path);
