/* The walks by size as a plot of text. */
#pragma once

#include "machine/data/machine.h"

#include <stdio.h>

/* Prints the plot, its knees and what follows for the last cache; nothing where there are no walks.
 */
struct rf_error *machine_print_sizes(const struct machine *machine, FILE *stream);
