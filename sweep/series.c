/* Gathers series from sweeps. */
#include "sweep/series.h"

#include "base/array.h"
#include "sweep/formula.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool number_of(const char *text, double *value)
{
	char *end;
	*value = strtod(text, &end);
	return end != text && !*end && isfinite(*value);
}

struct place {
	const struct sweep *sweep;
	size_t point;
};

static bool parameter_value(void *context, const char *name, double *value)
{
	const struct place *place = context;
	const struct space *space = &place->sweep->space;
	for (size_t i = 0; i < space->n_parameters; i++)
		if (strcmp(space->parameters[i].name, name) == 0)
			return number_of(space_value(space, place->point, i), value);
	return false;
}

static struct rf_error *compute(const char *formula, struct place *place, double *value)
{
	*value = NAN;
	return formula ? formula_value(formula, parameter_value, place, value) : NULL;
}

static struct rf_error *fill_point(const struct sweep *sweep, struct store *store, size_t point,
				   const char *kernel, const struct plot_options *options,
				   struct series_point *out)
{
	struct place place = {sweep, point};
	return compute(options->work_formula, &place, &out->work)
		       ?: compute(options->traffic_formula, &place, &out->traffic)
		       ?: compute(options->size_formula, &place, &out->size)
		       ?: sweep_result(sweep, store, point, kernel, &out->result)
		       ?: sweep_metrics(sweep, store, point, kernel, &out->metrics)
		       ?: sweep_times(sweep, store, point, kernel, &out->times, &out->n_times);
}

/* "dgemm lib=openblas"; `point`: any of the series. */
static char *name_of(const struct sweep *sweep, size_t point, const char *kernel, const char *file)
{
	const struct space *space = &sweep->space;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	const char *gap = "";
	if (out && file) {
		fputs(file, out);
		gap = " ";
	}
	for (size_t i = 1; out && i < space->n_parameters; i++) {
		fprintf(out, "%s%s=%s", gap, space->parameters[i].name,
			space_value(space, point, i));
		gap = " ";
	}
	if (out && (sweep->kernels[1] || !*gap))
		fprintf(out, "%s%s", gap, kernel);
	if (out && fclose(out) != 0) {
		free(text);
		return NULL;
	}
	return text;
}

static struct rf_error *add_series(const struct sweep *sweep, struct store *store, size_t line,
				   const char *kernel, const struct plot_options *options,
				   const char *file, struct gathered *out)
{
	const struct space *space = &sweep->space;
	const size_t along = space->n_parameters ? space->parameters[0].n_values : 1,
		     lines = space->n_points / along;
	const struct series new = {.name = name_of(sweep, line, kernel, file),
				   .points = calloc(along, sizeof(struct series_point)),
				   .n = along};
	if (!new.name || !new.points || !rf_array_push(out->series, out->n, out->cap, new)) {
		free(new.name);
		free(new.points);
		return rf_error_no_memory();
	}
	struct rf_error *error = NULL;
	for (size_t i = 0; !error && i < along; i++) {
		struct series_point *point = &new.points[i];
		point->label = space->n_parameters ? space_value(space, i * lines + line, 0) : "";
		if (!number_of(point->label, &point->x)) {
			out->numbers = false;
			point->x = (double)(i + 1);
		}
		error = fill_point(sweep, store, i * lines + line, kernel, options, point);
	}
	return error;
}

/* Sweeps over one and the same parameter have its name on their axis. */
static struct rf_error *take_parameter(const struct space *space, struct gathered *out)
{
	const char *name = space->n_parameters ? space->parameters[0].name : "";
	if (out->sweeps++ == 0) {
		out->numbers = space->n_parameters > 0;
		out->parameter = strdup(name);
		return out->parameter ? NULL : rf_error_no_memory();
	}
	if (out->parameter && strcmp(out->parameter, name) != 0) {
		free(out->parameter);
		out->parameter = NULL;
	}
	return NULL;
}

struct rf_error *gather(const struct sweep *sweep, struct store *store,
			const struct plot_options *options, const char *file, struct gathered *out)
{
	const struct space *space = &sweep->space;
	const size_t along = space->n_parameters ? space->parameters[0].n_values : 1;
	struct rf_error *error = take_parameter(space, out);
	for (char **kernel = sweep->kernels; !error && *kernel; kernel++)
		for (size_t line = 0; !error && line < space->n_points / along; line++)
			error = add_series(sweep, store, line, *kernel, options, file, out);
	return error;
}

void gathered_deinit(struct gathered *gathered)
{
	for (size_t i = 0; i < gathered->n; i++) {
		for (size_t k = 0; k < gathered->series[i].n; k++)
			free(gathered->series[i].points[k].times);
		free(gathered->series[i].points);
		free(gathered->series[i].name);
	}
	free(gathered->series);
	free(gathered->parameter);
	*gathered = (struct gathered){0};
}
