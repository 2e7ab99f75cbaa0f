/* The plots of sweeps, as papers on the roofline model have them. */
#pragma once

#include "base/words.h"
#include "report/chart/chart.h"
#include "sweep/series.h"

enum plot_kind {
	PLOT_NOT_CHOSEN,   /* 0: a roofline, but none in the terminal */
	PLOT_ROOFLINE,     /* [O] fig. 2: performance by flop per byte at memory */
	PLOT_READ,         /* [O] fig. 2 (c): the same with what is read alone */
	PLOT_WRITE,        /* [O] fig. 2 (d): with what is written alone */
	PLOT_CACHE_AWARE,  /* [G] fig. 11: with the bytes of loads and stores */
	PLOT_PERFORMANCE,  /* [T] fig. 2.2: performance by size */
	PLOT_INTENSITY,    /* [T] fig. 6.5: flop per byte at memory, by size */
	PLOT_TRAFFIC,      /* [T] fig. 3.1: bytes at memory, over a formula's where there is one */
	PLOT_TIME,         /* [T] fig. 3.5 */
	PLOT_BANDWIDTH,    /* [G] fig. 4: bytes of loads and stores per second */
	PLOT_DISTRIBUTION, /* [T] fig. 3.6: what the repeats' times are above the least one */
	PLOT_WALKS,        /* [T] fig. 6.6: misses of the simulated TLB, by size */
	PLOT_OTHER,        /* bytes at memory in another machine's caches, as PLOT_TRAFFIC */
	N_PLOTS
};
extern const struct rf_word plot_words[]; /* --plot= */

/* Makes the chart; its labels are those of `gathered`, which must live as long.  `program`: for the
 * title. Fails only when memory is short. */
struct rf_error *plot_chart(enum plot_kind kind, const struct gathered *gathered,
			    const struct machine *machine, const struct plot_options *options,
			    const char *program, struct chart *chart);
/* Whether it shows any point. */
bool plot_has_points(const struct chart *chart);
