/* Views whose rows are what --by, --focus, --ignore and --min ask for. */
#include "report/rows/ranking.h"

#include "report/rows/shape.h"
#include "report/rows/view.h"
#include <locale.h>
#include <stdlib.h>

bool report_is_shaped(const struct report_options *options)
{
	return options->by != BY_FUNCTION || options->focus || options->ignore ||
	       options->min_share > 0;
}

struct rf_error *report_shape_check(const struct report_options *options)
{
	static const char *const names[] = {
#define EXPORT(name, writer, check, help) [EXPORT_##name] = "--" #name,
#include "report/rows/export_formats.def"
#undef EXPORT
	};
	const char *refused = options->html_path ? "--html" : NULL;
	if (!report_is_shaped(options))
		return NULL;
	for (size_t i = 0; i < N_EXPORTS; i++)
		if (options->exports.of[i] && i != EXPORT_csv && i != EXPORT_png)
			refused = names[i];
	if (refused)
		return rf_error_create(
			RF_EINPUT,
			"write it without them, by a command of its own; what shows it has filters "
			"of "
			"its own",
			"%s has all of the program: --by, --focus, --ignore and --min are not "
			"about it",
			refused);
	const char *placed = options->json_path                ? "--json"
			     : options->svg_path               ? "--svg"
			     : options->exports.of[EXPORT_csv] ? "--csv"
			     : options->exports.of[EXPORT_png] ? "--png"
							       : NULL;
	if (placed && options->by == BY_CALL_PATH)
		return rf_error_create(
			RF_EINPUT, "--folded and --pprof have the time of call paths",
			"%s has no --by=call-path: work is counted by function, not by path",
			placed);
	return NULL;
}

/* Ranks the rows of another model than the plain one. */
static struct rf_error *use_model(const struct report_view *plain, struct model *model,
				  struct rf_error *(*use)(struct report_view *view, void *context),
				  void *context)
{
	struct report_view view = *plain;
	view.model = model;
	view.shaped = true;
	size_t *rank = report_rank(&view);
	view.rank = rank;
	struct rf_error *error = rank ? use(&view, context) : report_no_memory();
	free(rank);
	return error;
}

static struct rf_error *use_paths(const struct report_view *plain,
				  struct rf_error *(*use)(struct report_view *view, void *context),
				  void *context)
{
	struct model paths;
	struct rf_error *error = call_paths_create(plain, &paths);
	if (error)
		return error;
	error = use_model(plain, &paths, use, context);
	call_paths_destroy(&paths);
	return error;
}

/* The uncounted time is what the plain model has found. */
static struct rf_error *use_groups(const struct report_view *plain,
				   struct rf_error *(*use)(struct report_view *view, void *context),
				   void *context)
{
	struct grouping grouping;
	struct model model;
	struct rf_error *error = grouping_create(plain, &grouping);
	if (error)
		return error;
	const struct model_choice choice = {.level = plain->options->level,
					    .direction = plain->options->direction,
					    .groups = &grouping.groups};
	error = model_build_as(plain->profile, &choice, &model);
	if (!error) {
		struct model shown = model;
		shown.uncounted = plain->model->uncounted;
		shown.n_uncounted = plain->model->n_uncounted;
		shown.uncounted_ns = plain->model->uncounted_ns;
		error = use_model(plain, &shown, use, context);
		model_deinit(&model);
	}
	grouping_destroy(&grouping);
	return error;
}

struct rf_error *report_shape(const struct report_view *plain,
			      struct rf_error *(*use)(struct report_view *view, void *context),
			      void *context)
{
	/* expressions are about UTF-8, whatever the user's locale is */
	locale_t utf8 = newlocale(LC_ALL_MASK, "C.UTF-8", (locale_t)0);
	locale_t before = utf8 ? uselocale(utf8) : (locale_t)0;
	struct rf_error *error = plain->options->by == BY_CALL_PATH
					 ? use_paths(plain, use, context)
					 : use_groups(plain, use, context);
	if (utf8) {
		uselocale(before);
		freelocale(utf8);
	}
	return error;
}
