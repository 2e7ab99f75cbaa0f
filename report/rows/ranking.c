/* In which order rows stand (--sort, --min, --top), and views whose rows are what --by, --focus,
 * --ignore and --min ask for. */
#include "report/rows/ranking.h"

#include "base/search.h"
#include "base/text.h"
#include "report/account/groups.h"
#include "report/rows/call_paths.h"
#include "report/rows/grouping.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_TOP 20

/* Rows with less of the time are summed up, and those with few samples, unless these are much of it
 * all the same. */
#define MINOR_SHARE 0.005
#define MUCH_SHARE 0.05

/* Of these so many are shown, each with at least so much, as long as less than that is in rows. */
#define FLAT_ROWS 8
#define FLAT_LEAST 0.01
#define FLAT_SHARE 0.5

/* The figure that rows are sorted by, the largest first; -1 for a row without one, which so comes
 * behind all that have one. */
static double sort_key(const struct model_function *f, enum report_sort sort)
{
	double key = 0;
	switch (sort) {
	case SORT_HEADROOM: /* all of what the kernel does could be saved */
		key = f->place.bound == BOUND_KERNEL ? f->elapsed_s : f->place.headroom_s;
		break;
	case SORT_DISTANCE:
		key = f->place.distance;
		break;
	case SORT_TIME:
		key = (double)f->time_ns;
		break;
	case SORT_FLOPS:
		key = (double)f->tally.flop;
		break;
	case SORT_BYTES:
		key = f->traffic ? f->traffic->bytes.mem[DIRECTION_BOTH].bytes
				 : (double)f->tally.load_bytes + (double)f->tally.store_bytes;
		break;
	case SORT_NAME:
		break;
	}
	return isnan(key) ? -1 : key;
}

bool report_is_small(const struct report_view *view, const struct model_function *f)
{
	return view->shaped && f->share < view->options->min_share;
}

/* Functions without a sample are shown only when the table is sorted by flop or bytes, or when no
 * function has a sample. */
static bool is_shown(const struct report_view *view, const struct model_function *f)
{
	if (report_is_small(view, f))
		return false;
	if (f->n_samples > 0 || view->model->n_samples == 0)
		return true;
	return (view->sort == SORT_FLOPS && f->tally.flop > 0) || view->sort == SORT_BYTES;
}

/* Whether a row is not worth a line of its own: too little time, or the start of programs. */
static bool is_minor(const struct report_view *view, const struct model_function *f)
{
	if (view->sort == SORT_NAME || view->sort == SORT_FLOPS || view->sort == SORT_BYTES ||
	    view->model->n_samples == 0 || view->options->min_share > 0)
		return false;
	return f->share < MINOR_SHARE ||
	       (f->share < MUCH_SHARE && f->n_samples < MODEL_FEW_SAMPLES) ||
	       (f->share < MUCH_SHARE && report_is_linker(view, f));
}

bool report_is_linker(const struct report_view *view, const struct model_function *f)
{
	return (!view->shaped || view->options->by == BY_FUNCTION) &&
	       account_group_of(f->name, f->module) == GROUP_LINKER;
}

/* A row with what it is ranked by, the first that differs: a model's rows are large, and far from
 * each other.  Rows that are shown stand before those that are summed up, and these before the
 * others. */
struct ranked {
	size_t row;
	double keys[4];
	const struct model_function *f;
};

static struct ranked ranked(const struct report_view *view, size_t row)
{
	const struct model_function *f = &view->model->functions[row];
	const bool shown = is_shown(view, f);
	struct ranked r = {.row = row, .keys = {shown + (shown && !is_minor(view, f))}, .f = f};
	if (view->sort == SORT_NAME)
		return r;
	r.keys[1] = sort_key(f, view->sort);
	r.keys[2] = (double)f->time_ns;
	r.keys[3] = (double)f->tally.instructions;
	return r;
}

static int compare_ranks(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;
	int order = 0;
	for (int i = 0; !order && i < 4; i++)
		order = rf_compare(y->keys[i], x->keys[i]);
	return order ?: strcmp(x->f->name, y->f->name) ?: strcmp(x->f->module, y->f->module)
	       ?: rf_compare(x->row, y->row);
}

/* The first of the rows that are not worth a line, in their order, which are shown all the same
 * where a profile is flat: else nearly all of its time would be in one sum. */
static size_t n_of_flat(const struct report_view *view, const struct ranked *rows, size_t shown,
			size_t n)
{
	double share = 0;
	size_t i = 0;
	for (; i < shown; i++)
		share += rows[i].f->share;
	for (; i < n && i < FLAT_ROWS && share < FLAT_SHARE; i++) {
		const struct model_function *f = rows[i].f;
		if (rows[i].keys[0] != 1 || f->share < FLAT_LEAST || report_is_linker(view, f))
			break;
		share += f->share;
	}
	return i - shown;
}

/* Rows that --focus or --ignore leave out have no rank. */
size_t *report_rank(struct report_view *view)
{
	const size_t all = view->model->n_functions,
		     top = view->options->top ? view->options->top : DEFAULT_TOP;
	size_t n = 0, shown = 0, minor = 0;
	size_t *order = malloc((all + 1) * sizeof(*order));
	struct ranked *rows = malloc((all + 1) * sizeof(*rows));
	for (size_t i = 0; rows && i < all; i++)
		if (!view->model->functions[i].left_out)
			rows[n++] = ranked(view, i);
	if (n)
		qsort(rows, n, sizeof(*rows), compare_ranks);
	for (size_t i = 0; rows && order && i < n; i++) {
		order[i] = rows[i].row;
		shown += rows[i].keys[0] > 1;
		minor += rows[i].keys[0] == 1;
	}
	if (!shown || view->options->top) /* all that was asked for, or nothing else is there */
		shown += minor;
	else if (rows)
		shown += n_of_flat(view, rows, shown, n);
	view->n_rank = n;
	view->n_shown = shown < top ? shown : top;
	if (!rows) {
		free(order);
		order = NULL;
	}
	free(rows);
	return order;
}

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
	view.ecm = NULL;
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
