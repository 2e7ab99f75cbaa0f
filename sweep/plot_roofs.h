/* What the points of plots are compared with: the roofs of the machine, the sizes of its caches. */
#pragma once

#include "report/chart/chart.h"
#include "sweep/plots.h"

/* The roofs of a roofline plot: at memory the most that any mix of reads and writes moves (and
 * paler what reading alone does), or what is read or written alone; of PLOT_CACHE_AWARE all levels.
 * Of one thread, and paler those of all.  `factor`: from 1e9 per second to the axes' unit.  Axes
 * are widened so that the ridge is seen.  Fails only when memory is short. */
struct rf_error *plot_roofs(enum plot_kind kind, const struct gathered *gathered,
			    const struct machine *machine, double factor, struct chart *chart);
/* The peak of one thread over the whole width. */
struct rf_error *plot_peak(const struct gathered *gathered, const struct machine *machine,
			   double factor, struct chart *chart);
/* Upright lines at the sizes of the caches, where x is bytes. */
void plot_caches(const struct machine *machine, struct chart *chart);
