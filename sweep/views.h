/* The results of a sweep for readers and for programs. */
#pragma once

#include "sweep/sweep.h"

#include <stdio.h>

/* A table: medians by call, and how far the quartiles of the time are apart. */
struct rf_error *sweep_table(const struct sweep *sweep, struct store *store, FILE *stream);
/* docs/sweep.md describes it; clock_ghz: NAN where it is not known. */
struct rf_error *sweep_json(const struct sweep *sweep, struct store *store, double clock_ghz,
			    FILE *stream);
/* What would be run, a line for each point. */
void sweep_dry(const struct sweep *sweep, FILE *stream);
