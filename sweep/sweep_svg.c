/* Draws a sweep: its points stand in a model as if they were functions. */
#include "sweep/sweep_svg.h"

#include "report/svg/svg.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The points of one kernel, by the values of all parameters but the first, then by that. */
struct drawing {
	const struct sweep *sweep;
	struct model_function *functions;
	struct model_traffic *traffic;
	size_t *rank;
	uint32_t *line; /* per function: connected points have the same */
	size_t n;
};

static char *name_of(const struct sweep *sweep, size_t point, const char *kernel)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	for (size_t i = 0; out && i < sweep->space.n_parameters; i++)
		fprintf(out, "%s%s=%s", i ? " " : "", sweep->space.parameters[i].name,
			space_value(&sweep->space, point, i));
	if (out && (sweep->kernels[1] || !sweep->space.n_parameters))
		fprintf(out, " %s", kernel);
	if (out && fclose(out) != 0) {
		free(text);
		return NULL;
	}
	return text;
}

static struct rf_error *add_point(struct drawing *drawing, size_t point, const char *kernel,
				  uint32_t line, const struct sweep_result *result)
{
	const double flop = result->of[SWEEP_FLOP].per_call.median,
		     time_s = result->of[SWEEP_TIME].per_call.median,
		     bytes = result->of[SWEEP_READ].per_call.median +
			     result->of[SWEEP_WRITTEN].per_call.median;
	if (!result->of[SWEEP_TIME].n || !result->of[SWEEP_READ].n ||
	    !result->of[SWEEP_WRITTEN].n || !(flop > 0) || !(time_s > 0))
		return NULL;
	struct model_traffic *traffic = &drawing->traffic[drawing->n];
	*traffic = (struct model_traffic){.source = MEMORY_TRACED, .n_levels = 1};
	traffic->levels[0] = (struct model_level){.name = "DRAM",
						  .intensity = bytes > 0 ? flop / bytes : INFINITY};
	drawing->functions[drawing->n] = (struct model_function){
		.name = name_of(drawing->sweep, point, kernel),
		.module = "",
		.function = PROFILE_NONE,
		.tally = {.flop = (uint64_t)flop},
		.time_ns = 1, /* points of a sweep are all alike */
		.n_samples = 1,
		.concurrency = 1,
		.elapsed_s = time_s,
		.precision = PRECISION_DOUBLE,
		.intensity = traffic->levels[0].intensity,
		.traffic = traffic,
		.place = {.axis = AXIS_FLOP, .point = flop / time_s * 1e-9, .distance = NAN},
	};
	drawing->rank[drawing->n] = drawing->n;
	drawing->line[drawing->n] = line;
	return drawing->functions[drawing->n++].name ? NULL : rf_error_no_memory();
}

/* Points in the order of their lines: the first parameter varies the slowest in a space. */
static struct rf_error *add_points(struct drawing *drawing, struct store *store)
{
	const struct space *space = &drawing->sweep->space;
	const size_t along = space->n_parameters ? space->parameters[0].n_values : 1,
		     lines = space->n_points / along;
	struct rf_error *error = NULL;
	uint32_t line = 0;
	for (char **kernel = drawing->sweep->kernels; !error && *kernel; kernel++)
		for (size_t k = 0; !error && k < lines; k++, line++)
			for (size_t i = 0; !error && i < along; i++) {
				const size_t point = i * lines + k;
				struct sweep_result result;
				error = sweep_result(drawing->sweep, store, point, *kernel,
						     &result);
				if (!error)
					error = add_point(drawing, point, *kernel, line, &result);
			}
	return error;
}

static struct rf_error *draw(const struct drawing *drawing, const struct profile *profile,
			     FILE *stream)
{
	const struct model model = {.functions = drawing->functions,
				    .n_functions = drawing->n,
				    .memory = MEMORY_TRACED,
				    .traced = true,
				    .counted = true};
	const struct report_options options = {.level = "DRAM", .top = drawing->n};
	const struct report_view view = {.profile = profile,
					 .model = &model,
					 .options = &options,
					 .rank = drawing->rank,
					 .n_rank = drawing->n,
					 .n_shown = drawing->n};
	return report_svg_lines(&view, drawing->line, stream);
}

struct rf_error *sweep_svg(const struct sweep *sweep, struct store *store,
			   const struct machine *machine, FILE *stream)
{
	size_t n = 1;
	for (char **kernel = sweep->kernels; *kernel; kernel++)
		n += sweep->space.n_points;
	struct drawing drawing = {
		.sweep = sweep,
		.functions = calloc(n, sizeof(*drawing.functions)),
		.traffic = calloc(n, sizeof(*drawing.traffic)),
		.rank = calloc(n, sizeof(*drawing.rank)),
		.line = calloc(n, sizeof(*drawing.line)),
	};
	struct profile *profile = profile_create();
	struct rf_error *error =
		drawing.functions && drawing.traffic && drawing.rank && drawing.line && profile
			? profile_take_machine(profile, machine)
			: rf_error_no_memory();
	if (!error)
		profile_set_fact(profile, "command", "%s", sweep->space.command[0]);
	error = error ?: add_points(&drawing, store) ?: draw(&drawing, profile, stream);
	for (size_t i = 0; i < drawing.n; i++)
		free(drawing.functions[i].name);
	free(drawing.functions);
	free(drawing.traffic);
	free(drawing.rank);
	free(drawing.line);
	profile_destroy(profile);
	return error;
}
