/* Looks up the function that the code at (module, offset) belongs to: the one place where that is
 * done.  Functions are sorted by their start once; a look-up is a binary search. */
#include "profile/function_index.h"

#include "base/search.h"

#include <assert.h>
#include <stdlib.h>

static int compare_functions(const void *a, const void *b, void *functions)
{
	const uint32_t row_x = *(const uint32_t *)a, row_y = *(const uint32_t *)b;
	const struct profile_function *x = (const struct profile_function *)functions + row_x;
	const struct profile_function *y = (const struct profile_function *)functions + row_y;
	if (x->module != y->module)
		return x->module < y->module ? -1 : 1;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return row_x < row_y ? -1 : row_x > row_y;
}

static bool is_current(const struct profile *profile)
{
	const struct function_index *index = profile->function_index;
	return index->rows && index->of == profile->functions && index->n == profile->n_functions;
}

struct rf_error *profile_index_functions(const struct profile *profile)
{
	struct function_index *index = profile->function_index;
	if (is_current(profile))
		return NULL;
	function_index_deinit(index);
	index->rows = malloc((profile->n_functions + 1) * sizeof(*index->rows));
	if (!index->rows)
		return rf_error_no_memory();
	index->of = profile->functions;
	index->n = profile->n_functions;
	for (size_t i = 0; i < index->n; i++)
		index->rows[i] = (uint32_t)i;
	qsort_r(index->rows, index->n, sizeof(*index->rows), compare_functions, profile->functions);
	return NULL;
}

void function_index_deinit(struct function_index *index)
{
	free(index->rows);
	*index = (struct function_index){0};
}

uint32_t profile_function_at(const struct profile *profile, uint32_t module, uint64_t offset,
			     uint64_t *end)
{
	const struct function_index *index = profile->function_index;
	const struct profile_function *functions = profile->functions;
	assert(is_current(profile));
	const size_t n = rf_search(index->n, i,
				   functions[index->rows[i]].module < module ||
					   (functions[index->rows[i]].module == module &&
					    functions[index->rows[i]].start <= offset));
	uint64_t until = UINT64_MAX; /* the next function ends what is known about this place */
	if (n < index->n && functions[index->rows[n]].module == module)
		until = functions[index->rows[n]].start;
	const struct profile_function *f = n ? &functions[index->rows[n - 1]] : NULL;
	const bool within = f && f->module == module && offset < f->end;
	if (within && f->end < until)
		until = f->end;
	if (end)
		*end = until;
	return within ? index->rows[n - 1] : PROFILE_NONE;
}

size_t profile_place_at(const struct profile *profile, uint32_t module, uint64_t offset,
			uint64_t *end)
{
	if (module == PROFILE_NONE) {
		if (end)
			*end = UINT64_MAX;
		return profile->n_functions + profile->n_modules;
	}
	assert(module < profile->n_modules);
	const uint32_t function = profile_function_at(profile, module, offset, end);
	return function != PROFILE_NONE ? function : profile->n_functions + module;
}

uint32_t *profile_places_of_frames(const struct profile *profile)
{
	struct rf_error *error = profile_index_functions(profile);
	uint32_t *places = error ? NULL : malloc((profile->n_frames + 1) * sizeof(*places));
	rf_error_destroy(error);
	for (size_t i = 0; places && i < profile->n_frames; i++)
		places[i] = (uint32_t)profile_place_at(profile, profile->frames[i].module,
						       profile->frames[i].offset, NULL);
	return places;
}

void profile_split_place(const struct profile *profile, uint32_t place, uint32_t *function,
			 uint32_t *module)
{
	const size_t n = profile->n_functions;
	*function = place < n ? place : PROFILE_NONE;
	*module = place >= n && place < n + profile->n_modules ? place - (uint32_t)n : PROFILE_NONE;
}
