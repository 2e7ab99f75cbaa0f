/* Makes ranges of all code of a profile. */
#include "report/rows/code_ranges.h"

#include "base/array.h"
#include "base/search.h"

#include <stdlib.h>

static int compare_ranges(const void *a, const void *b)
{
	const struct model_range *x = a, *y = b;
	return rf_compare(x->module, y->module) ?: rf_compare(x->start, y->start)
	       ?: rf_compare(x->row, y->row);
}

struct rf_error *code_ranges_add(struct code_ranges *ranges, struct model_range range)
{
	return range.start >= range.end ? NULL
					: rf_array_add(ranges->all, ranges->n, ranges->cap, range);
}

void code_ranges_cut(struct code_ranges *ranges)
{
	struct model_range *all = ranges->all;
	if (ranges->n)
		qsort(all, ranges->n, sizeof(*all), compare_ranges);
	for (size_t i = 0; i + 1 < ranges->n; i++)
		if (all[i].module == all[i + 1].module && all[i].end > all[i + 1].start)
			all[i].end = all[i + 1].start;
}

/* The functions of a module, and what lies between them. */
static struct rf_error *add_module(const struct profile *profile, struct code_ranges *all,
				   uint32_t module, const struct model_range *functions, size_t n)
{
	const uint32_t unknown = (uint32_t)profile->n_functions + module;
	uint64_t done = 0;
	struct rf_error *error = NULL;
	for (size_t i = 0; !error && i < n; i++) {
		const struct model_range gap = {module, done, functions[i].start, unknown};
		error = code_ranges_add(all, gap) ?: code_ranges_add(all, functions[i]);
		done = functions[i].end > done ? functions[i].end : done;
	}
	const struct model_range rest = {module, done, UINT64_MAX, unknown};
	return error ?: code_ranges_add(all, rest);
}

struct rf_error *code_ranges_find(const struct profile *profile, struct code_ranges *all)
{
	struct code_ranges functions = {0};
	struct rf_error *error = NULL;
	for (size_t i = 0; !error && i < profile->n_functions; i++) {
		const struct profile_function *f = &profile->functions[i];
		const struct model_range range = {f->module, f->start, f->end, (uint32_t)i};
		error = code_ranges_add(&functions, range);
	}
	code_ranges_cut(&functions);
	for (size_t module = 0, at = 0; !error && module < profile->n_modules; module++) {
		const size_t first = at;
		while (at < functions.n && functions.all[at].module == module)
			at++;
		/* where there are none, there is no array either */
		error = add_module(profile, all, (uint32_t)module,
				   first ? functions.all + first : functions.all, at - first);
	}
	free(functions.all);
	return error;
}
