/* The machine and its roofs as a text for people. */
#pragma once

#include "machine/data/machine.h"

#include <stdio.h>

/* Prints the roofs at `n_threads` thread counts; NULL: at the lowest and the highest. */
struct rf_error *machine_print(const struct machine *machine, const int *threads, size_t n_threads,
			       FILE *stream);
