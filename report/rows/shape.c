/* Views whose rows are what --by, --focus, --ignore and --min ask for. */
#include "report/rows/shape.h"

#include "base/text.h"
#include "report/rows/call_paths.h"
#include "report/rows/grouping.h"
#include "report/rows/ranking.h"

#include <stdlib.h>

/* The rows of another model, ranked.  It does not look for uncounted time again: it takes what the
 * plain one found. */
static struct rf_error *use_model(const struct report_view *plain, const struct model *model,
				  struct rf_error *(*use)(struct report_view *view, void *context),
				  void *context)
{
	struct report_view view = *plain;
	struct model shown = *model;
	shown.uncounted = plain->model->uncounted;
	shown.n_uncounted = plain->model->n_uncounted;
	shown.uncounted_ns = plain->model->uncounted_ns;
	view.model = &shown;
	view.shaped = true;
	size_t *rank = report_rank(&view);
	view.rank = rank;
	struct rf_error *error = rank ? use(&view, context) : rf_error_no_memory();
	free(rank);
	return error;
}

struct rf_error *report_shape(const struct report_view *plain,
			      struct rf_error *(*use)(struct report_view *view, void *context),
			      void *context)
{
	const struct utf8_locale locale = utf8_locale_begin();
	const bool paths = plain->options->by == BY_CALL_PATH;
	struct model model = {0};
	struct model_groups groups = {0};
	const struct model_choice choice = {.level = plain->options->level,
					    .direction = plain->options->direction,
					    .groups = &groups};
	struct rf_error *error = paths ? call_paths_create(plain, &model)
				       : grouping_create(plain, &groups)
						 ?: model_build_as(plain->profile, &choice, &model);
	if (!error)
		error = use_model(plain, &model, use, context);
	(paths ? call_paths_destroy : model_deinit)(&model);
	grouping_destroy(&groups);
	utf8_locale_end(locale);
	return error;
}
