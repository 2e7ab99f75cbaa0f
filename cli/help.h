/* What rfprof says of its own command line. */
#pragma once

#include "base/error.h"
#include "cli/options.h"

#include <stdbool.h>
#include <stdio.h>

/* Writes --help of a command: what fits a terminal of 24 lines and 80 columns, or, `whole`, all of
 * its options. */
struct rf_error *help_write(enum command_id command, bool whole, FILE *stream);

/* Writes what one would try first. */
void help_examples(FILE *stream);
