/* The views of a sweep, with the sweeps of other files beside it in plots and metrics. */
#pragma once

#include "sweep/plots.h"

struct other;

struct gallery {
	/* what is asked for */
	enum plot_kind kind;
	struct plot_options plot;
	bool metrics; /* in the text */
	/* filled by gallery_init */
	const struct sweep *sweep;
	struct store *store;
	const struct machine *machine;
	struct other *others;
	size_t n_others;
	struct gathered gathered;
	char *program; /* for titles */
};

/* Gathers what the views show, from the sweep and the files `with` (NULL at the end, or NULL), all
 * of which must live as long.  To be freed by gallery_deinit, after an error, too. */
struct rf_error *gallery_init(struct gallery *gallery, const struct sweep *sweep,
			      struct store *store, const struct machine *machine, char **with);
void gallery_deinit(struct gallery *gallery);

struct rf_error *gallery_svg(const struct gallery *gallery, FILE *stream);
/* Fails where there is no program that draws (report/export/export.h), too. */
struct rf_error *gallery_png(const struct gallery *gallery, FILE *stream);
struct rf_error *gallery_html(const struct gallery *gallery, FILE *stream);
struct rf_error *gallery_json(const struct gallery *gallery, FILE *stream);
/* The table, then what was asked for. */
struct rf_error *gallery_text(const struct gallery *gallery, FILE *stream);
