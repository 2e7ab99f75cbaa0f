/* Views whose rows are what --by, --focus, --ignore and --min ask for. */
#include "report/rows/shape.h"

#include "report/rows/call_paths.h"
#include "report/rows/grouping.h"
#include "report/rows/ranking.h"

#include <stdlib.h>

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
	struct rf_error *error = rank ? use(&view, context) : rf_error_no_memory();
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

/* The model of the rows does not look for uncounted time again: it takes what the plain one found.
 */
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
	const struct utf8_locale locale = utf8_locale_begin();
	struct rf_error *error = plain->options->by == BY_CALL_PATH
					 ? use_paths(plain, use, context)
					 : use_groups(plain, use, context);
	utf8_locale_end(locale);
	return error;
}
