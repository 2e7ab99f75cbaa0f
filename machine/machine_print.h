/* The machine and its roofs as a table for people. */
#pragma once

#include "machine/machine.h"

#include <stdio.h>

/* Prints CPU, caches, clock, one line for each roof with its best, median and quartiles, and the
 * notes.  Levels that cannot be told from the next are marked. */
struct rf_error *machine_print(const struct machine *machine, FILE *stream);
