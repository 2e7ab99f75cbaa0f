/* All plots of a sweep, and its metrics, on one page. */
#pragma once

#include "sweep/plots.h"

/* A page that needs no other file.  Plots without points are left out. */
struct rf_error *sweep_html(const struct gathered *gathered, const struct machine *machine,
			    const struct plot_options *options, const char *program, FILE *stream);
