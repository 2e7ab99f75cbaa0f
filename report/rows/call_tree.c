/* The call paths of all samples as one tree of functions. */
#include "report/rows/call_tree.h"

#include "base/array.h"
#include "base/u64_map.h"
#include "profile/function_index.h"
#include "report/rows/code_names.h"

#include <stdlib.h>

/* The step of a function that `parent` calls, found or added; `known`: steps by parent and row. */
static struct rf_error *take_step(struct call_tree *tree, struct u64_map *known,
				  const struct profile *profile, uint32_t parent, uint32_t row,
				  uint32_t *step)
{
	const uint64_t key = ((uint64_t)parent << 32 | row) + 1;
	const uint32_t *found = u64_map_find(known, key);
	*step = found ? *found : (uint32_t)tree->n_steps;
	if (found)
		return NULL;
	const bool dull = (parent == PROFILE_NONE || tree->steps[parent].dull) &&
			  report_is_start_up(report_row_name(profile, row));
	const struct call_step fresh = {.parent = parent, .row = row, .dull = dull};
	return u64_map_set(known, key, *step)
		       ? rf_array_add(tree->steps, tree->n_steps, tree->cap_steps, fresh)
		       : rf_error_no_memory();
}

/* The step of each frame; frames stand behind their parents. */
static struct rf_error *steps_of_frames(struct call_tree *tree, struct u64_map *known,
					const struct profile *profile, uint32_t *steps)
{
	uint32_t *rows = profile_places_of_frames(profile);
	struct rf_error *error = rows ? NULL : rf_error_no_memory();
	for (size_t i = 0; !error && i < profile->n_frames; i++) {
		const uint32_t above = profile->frames[i].parent;
		uint32_t parent = above == PROFILE_NONE ? PROFILE_NONE : steps[above];
		if (parent != PROFILE_NONE && tree->steps[parent].row == rows[i])
			steps[i] = parent;
		else
			error = take_step(tree, known, profile, parent, rows[i], &steps[i]);
	}
	free(rows);
	return error;
}

static struct rf_error *add_samples(struct call_tree *tree, struct u64_map *known,
				    const struct report_view *view, const uint32_t *steps)
{
	const struct profile *profile = view->profile;
	const uint32_t nowhere = (uint32_t)(profile->n_functions + profile->n_modules);
	struct rf_error *error = NULL;
	for (size_t i = 0; i < profile->n_samples; i++) {
		const struct profile_sample *sample = &profile->samples[i];
		const bool uncounted = view->model->uncounted_samples[i];
		uint32_t step = sample->frame == PROFILE_NONE ? PROFILE_NONE : steps[sample->frame];
		if (sample->frame == PROFILE_NONE)
			error = take_step(tree, known, profile, PROFILE_NONE, nowhere, &step);
		if (error)
			break;
		tree->steps[step].n_samples[uncounted]++;
		tree->steps[step].time_ns[uncounted] += view->model->sample_ns[i];
	}
	return error;
}

struct rf_error *call_tree_init(struct call_tree *tree, const struct report_view *view)
{
	struct u64_map known = {0};
	uint32_t *steps = malloc((view->profile->n_frames + 1) * sizeof(*steps));
	*tree = (struct call_tree){0};
	struct rf_error *error = steps ? NULL : rf_error_no_memory();
	error = error ?: steps_of_frames(tree, &known, view->profile, steps);
	error = error ?: add_samples(tree, &known, view, steps);
	u64_map_deinit(&known);
	free(steps);
	return error;
}

void call_tree_deinit(struct call_tree *tree)
{
	free(tree->steps);
	*tree = (struct call_tree){0};
}

uint32_t call_tree_caller(const struct call_tree *tree, uint32_t step)
{
	const uint32_t parent = tree->steps[step].parent;
	return parent == PROFILE_NONE || tree->steps[parent].dull ? PROFILE_NONE : parent;
}
