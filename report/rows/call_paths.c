/* Rows that are call paths. */
#include "report/rows/call_paths.h"

#include "base/array.h"
#include "base/u64_map.h"
#include "profile/function_index.h"
#include "report/rows/code_names.h"
#include "report/rows/view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A function called by the path of its parent. */
struct step {
	uint32_t parent;                   /* or PROFILE_NONE */
	uint32_t row;                      /* of the plain model */
	bool dull;                         /* start-up code below the first function of interest */
	uint64_t time_ns[2], n_samples[2]; /* counted, uncounted */
};

struct walker {
	const struct report_view *view;
	const struct profile *profile;
	struct report_filter filter;
	struct step *steps;
	size_t n_steps, cap_steps;
	struct u64_map known; /* steps by parent and row */
	/* Per row of the plain model: counted, uncounted. */
	const struct model_function **functions[2];
	uint32_t *rows; /* per frame */
	struct model *out;
	size_t cap_out;
};

/* ---- the tree of paths ---- */

/* The step of a function that `parent` calls; start-up code has none of its own. */
static struct rf_error *take_step(struct walker *walker, uint32_t parent, uint32_t row,
				  uint32_t *step)
{
	const uint64_t key = ((uint64_t)parent << 32 | row) + 1;
	const uint32_t *known = u64_map_find(&walker->known, key);
	*step = known ? *known : (uint32_t)walker->n_steps;
	if (known)
		return NULL;
	const bool dull = (parent == PROFILE_NONE || walker->steps[parent].dull) &&
			  report_is_start_up(report_row_name(walker->profile, row));
	const struct step fresh = {.parent = parent, .row = row, .dull = dull};
	return u64_map_set(&walker->known, key, *step)
		       ? rf_array_add(walker->steps, walker->n_steps, walker->cap_steps, fresh)
		       : rf_error_no_memory();
}

/* Frames stand behind their parents.  A function that calls itself is one step. */
static struct rf_error *walk(struct walker *walker)
{
	const struct profile *profile = walker->profile;
	uint32_t *steps = malloc((profile->n_frames + 1) * sizeof(*steps)), step;
	struct rf_error *error = steps ? NULL : rf_error_no_memory();
	for (size_t i = 0; !error && i < profile->n_frames; i++) {
		const uint32_t above = profile->frames[i].parent;
		uint32_t parent = above == PROFILE_NONE ? PROFILE_NONE : steps[above];
		if (parent != PROFILE_NONE && walker->steps[parent].row == walker->rows[i])
			steps[i] = parent;
		else
			error = take_step(walker, parent, walker->rows[i], &steps[i]);
	}
	for (size_t i = 0; !error && i < profile->n_samples; i++) {
		const struct profile_sample *sample = &profile->samples[i];
		const uint32_t nowhere = (uint32_t)(profile->n_functions + profile->n_modules);
		const bool uncounted = walker->view->model->uncounted_samples[i];
		step = sample->frame == PROFILE_NONE ? PROFILE_NONE : steps[sample->frame];
		if (sample->frame == PROFILE_NONE)
			error = take_step(walker, PROFILE_NONE, nowhere, &step);
		if (error)
			break;
		walker->steps[step].n_samples[uncounted]++;
		walker->steps[step].time_ns[uncounted] += walker->view->model->sample_ns[i];
	}
	free(steps);
	return error;
}

/* ---- rows ---- */

static bool path_matches(const struct walker *walker, uint32_t step)
{
	bool focus = false;
	for (; step != PROFILE_NONE; step = walker->steps[step].parent) {
		const enum report_kind kind =
			report_row_kind(&walker->filter, walker->profile, walker->steps[step].row);
		if (kind == KIND_IGNORED)
			return false;
		focus |= kind == KIND_IN;
	}
	return focus;
}

static void write_path(const struct walker *walker, uint32_t step, FILE *text)
{
	const struct step *at = &walker->steps[step];
	if (at->parent != PROFILE_NONE && !walker->steps[at->parent].dull) {
		write_path(walker, at->parent, text);
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
	const struct step *at = &walker->steps[step];
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
	walker->rows = profile_places_of_frames(profile);
	if (!walker->functions[0] || !walker->rows)
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
					 ?: walker_init(&walker) ?: walk(&walker);
	for (uint32_t i = 0; !error && i < walker.n_steps; i++)
		error = add_path(&walker, i, false) ?: add_path(&walker, i, true);
	report_filter_deinit(&walker.filter);
	free(walker.steps);
	u64_map_deinit(&walker.known);
	free(walker.functions[0]);
	free(walker.rows);
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
