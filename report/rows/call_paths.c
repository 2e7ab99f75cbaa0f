/* Rows that are call paths. */
#include "report/rows/call_paths.h"

#include "base/array.h"
#include "profile/function_index.h"
#include "report/rows/call_tree.h"
#include "report/rows/code_names.h"
#include "report/rows/view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct walker {
	const struct report_view *view;
	const struct profile *profile;
	struct report_filter filter;
	struct call_tree tree;
	/* Per row of the plain model: counted, uncounted. */
	const struct model_function **functions[2];
	struct model *out;
	size_t cap_out;
};

static bool path_matches(const struct walker *walker, uint32_t step)
{
	bool focus = false;
	for (; step != PROFILE_NONE; step = walker->tree.steps[step].parent) {
		const enum report_kind kind = report_row_kind(&walker->filter, walker->profile,
							      walker->tree.steps[step].row);
		if (kind == KIND_IGNORED)
			return false;
		focus |= kind == KIND_IN;
	}
	return focus;
}

static void write_path(const struct walker *walker, uint32_t step, FILE *text)
{
	const struct call_step *at = &walker->tree.steps[step];
	const uint32_t caller = call_tree_caller(&walker->tree, step);
	if (caller != PROFILE_NONE) {
		write_path(walker, caller, text);
		fputs(" → ", text);
	}
	fputs(report_row_name(walker->profile, at->row), text);
}

static char *path_name(const struct walker *walker, uint32_t step)
{
	char *name = NULL;
	size_t size;
	FILE *text = open_memstream(&name, &size);
	if (!text)
		return NULL;
	write_path(walker, step, text);
	return fclose(text) == 0 ? name : NULL;
}

static struct rf_error *add_path(struct walker *walker, uint32_t step, bool uncounted)
{
	const struct call_step *at = &walker->tree.steps[step];
	const struct model *plain = walker->view->model;
	const struct model_function *leaf = walker->functions[uncounted][at->row];
	if (!at->n_samples[uncounted])
		return NULL;
	if (!leaf)
		leaf = walker->functions[!uncounted][at->row];
	struct model_function row = leaf ? *leaf : (struct model_function){.module = ""};
	row.left_out = !path_matches(walker, step);
	row.time_ns = at->time_ns[uncounted];
	row.n_samples = at->n_samples[uncounted];
	row.share = plain->time_ns ? (double)row.time_ns / (double)plain->time_ns : 0;
	row.place.headroom_s *=
		leaf && leaf->time_ns ? (double)row.time_ns / (double)leaf->time_ns : 1;
	row.name = path_name(walker, step);
	if (row.name &&
	    rf_array_push(walker->out->functions, walker->out->n_functions, walker->cap_out, row))
		return NULL;
	free(row.name);
	return rf_error_no_memory();
}

static struct rf_error *walker_init(struct walker *walker)
{
	const struct profile *profile = walker->profile;
	const size_t n = profile_n_places(profile);
	walker->functions[0] = calloc(2 * n, sizeof(*walker->functions[0]));
	walker->functions[1] = walker->functions[0] + n;
	if (!walker->functions[0])
		return rf_error_no_memory();
	for (size_t i = 0; i < walker->view->model->n_functions; i++) {
		const struct model_function *function = &walker->view->model->functions[i];
		walker->functions[function->uncounted_part][function->row] = function;
	}
	return NULL;
}

struct rf_error *call_paths_create(const struct report_view *view, struct model *out)
{
	struct walker walker = {.view = view, .profile = view->profile, .out = out};
	*out = *view->model;
	out->functions = NULL;
	out->n_functions = 0;
	struct rf_error *error = report_filter_init(&walker.filter, view->options)
					 ?: walker_init(&walker)
					 ?: call_tree_init(&walker.tree, view);
	for (uint32_t i = 0; !error && i < walker.tree.n_steps; i++)
		error = add_path(&walker, i, false) ?: add_path(&walker, i, true);
	report_filter_deinit(&walker.filter);
	call_tree_deinit(&walker.tree);
	free(walker.functions[0]);
	if (error)
		call_paths_destroy(out);
	return error;
}

void call_paths_destroy(struct model *paths)
{
	for (size_t i = 0; i < paths->n_functions; i++)
		free(paths->functions[i].name);
	free(paths->functions);
	*paths = (struct model){0};
}
