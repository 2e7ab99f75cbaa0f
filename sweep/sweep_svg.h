/* The points of a sweep in the roofline of this machine. */
#pragma once

#include "machine/data/machine.h"
#include "sweep/sweep.h"

#include <stdio.h>

/* Each point that has flop, a time and memory traffic, at its medians; those that differ in the
 * first parameter alone are connected. */
struct rf_error *sweep_svg(const struct sweep *sweep, struct store *store,
			   const struct machine *machine, FILE *stream);
