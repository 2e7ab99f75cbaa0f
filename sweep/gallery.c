/* The views of a sweep, with the sweeps of other files beside it. */
#include "sweep/gallery.h"

#include "report/chart/chart_svg.h"
#include "report/chart/chart_text.h"
#include "report/export/export.h"
#include "sweep/metrics_table.h"
#include "sweep/sweep_html.h"
#include "sweep/views.h"

#include <stdlib.h>
#include <string.h>

/* A sweep of another file. */
struct other {
	struct sweep sweep;
	struct store *store;
	char *machine;
};

/* "cold" of "results/cold.rfp"; to be freed. */
static char *file_name(const char *path)
{
	const char *base = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	const size_t length = strlen(base);
	return strndup(base,
		       length > 4 && strcmp(&base[length - 4], ".rfp") == 0 ? length - 4 : length);
}

static struct rf_error *gather_one(struct gallery *o, const struct sweep *sweep,
				   struct store *store, const char *path)
{
	char *name = o->n_others ? file_name(path) : NULL;
	struct rf_error *error = gather(sweep, store, &o->plot, name, &o->gathered);
	free(name);
	return error;
}

static struct rf_error *open_other(struct gallery *o, const char *path)
{
	struct other *other = &o->others[o->n_others++];
	struct rf_error *error = store_open(path, false, &other->store);
	if (!error && !other->store)
		error = rf_error_create(RF_EINPUT, "name the file of a sweep", "there is no %s",
					path);
	return error ?: sweep_open(&other->sweep, o->sweep->options, other->store, &other->machine);
}

static struct rf_error *gather_all(struct gallery *o, char **with)
{
	size_t n = 0;
	while (with && with[n])
		n++;
	o->others = calloc(n + 1, sizeof(*o->others));
	struct rf_error *error = o->others ? NULL : rf_error_no_memory();
	for (size_t i = 0; !error && i < n; i++)
		error = open_other(o, with[i]);
	if (!error)
		error = gather_one(o, o->sweep, o->store, o->sweep->options->path);
	for (size_t i = 0; !error && i < n; i++)
		error = gather_one(o, &o->others[i].sweep, o->others[i].store, with[i]);
	return error;
}

struct rf_error *gallery_init(struct gallery *o, const struct sweep *sweep, struct store *store,
			      const struct machine *machine, char **with)
{
	o->sweep = sweep;
	o->store = store;
	o->machine = machine;
	o->plot.per_cycle &= machine->clock_ghz > 0;
	o->program = file_name(sweep->space.command[0]);
	return o->program ? gather_all(o, with) : rf_error_no_memory();
}

void gallery_deinit(struct gallery *o)
{
	gathered_deinit(&o->gathered);
	for (size_t i = 0; i < o->n_others; i++) {
		sweep_deinit(&o->others[i].sweep);
		store_close(o->others[i].store);
		free(o->others[i].machine);
	}
	free(o->others);
	free(o->program);
}

/* ---- views ---- */

static struct rf_error *make_chart(const struct gallery *o, struct chart *chart)
{
	return plot_chart(o->kind ? o->kind : PLOT_ROOFLINE, &o->gathered, o->machine, &o->plot,
			  o->program, chart);
}

struct rf_error *gallery_svg(const struct gallery *o, FILE *stream)
{
	struct chart chart;
	struct rf_error *error = make_chart(o, &chart) ?: chart_svg(&chart, stream);
	chart_deinit(&chart);
	return error;
}

struct rf_error *gallery_png(const struct gallery *o, FILE *stream)
{
	FILE *svg = tmpfile();
	if (!svg)
		return rf_error_create(RF_EACCESS, "make room there", "no temporary file");
	struct rf_error *error = gallery_svg(o, svg);
	if (!error && fflush(svg) != 0)
		error = rf_error_create(RF_EACCESS, "make room there", "no temporary file");
	error = error ?: export_png_convert(svg, stream);
	fclose(svg);
	return error;
}

struct rf_error *gallery_html(const struct gallery *o, FILE *stream)
{
	return sweep_html(&o->gathered, o->machine, &o->plot, o->program, stream);
}

struct rf_error *gallery_json(const struct gallery *o, FILE *stream)
{
	const double clock = o->machine->clock_ghz;
	return sweep_json(o->sweep, o->store, clock > 0 ? clock : NAN, stream);
}

struct rf_error *gallery_text(const struct gallery *o, FILE *stream)
{
	const struct report_options plain = {0};
	const struct terminal terminal = terminal_of(stream, &plain);
	struct rf_error *error = sweep_table(o->sweep, o->store, stream);
	if (!error && o->metrics)
		error = metrics_table(&o->gathered, o->machine->clock_ghz, &terminal, stream);
	if (error || o->kind == PLOT_NOT_CHOSEN)
		return error;
	struct chart chart;
	error = make_chart(o, &chart) ?: chart_text(&chart, &terminal, stream);
	chart_deinit(&chart);
	return error;
}
