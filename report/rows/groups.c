/* Groups while they are made: all code of the plain model, cut into ranges that do not overlap, and
 * the rows that the ranges go to. */
#include "report/rows/groups.h"

#include "base/array.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- ranges ---- */

static int compare_ranges(const void *a, const void *b)
{
	const struct model_range *x = a, *y = b;
	if (x->module != y->module)
		return x->module < y->module ? -1 : 1;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->row < y->row ? -1 : x->row > y->row;
}

struct rf_error *groups_add_range(struct code_ranges *ranges, struct model_range range)
{
	return range.start >= range.end || rf_array_push(ranges->all, ranges->n, ranges->cap, range)
		       ? NULL
		       : rf_error_no_memory();
}

void groups_cut_overlaps(struct code_ranges *ranges)
{
	struct model_range *all = ranges->all;
	if (ranges->n)
		qsort(all, ranges->n, sizeof(*all), compare_ranges);
	for (size_t i = 0; i + 1 < ranges->n; i++)
		if (all[i].module == all[i + 1].module && all[i].end > all[i + 1].start)
			all[i].end = all[i + 1].start;
}

/* The functions of a module, and what lies between them. */
static struct rf_error *add_module(struct maker *maker, uint32_t module,
				   const struct model_range *functions, size_t n)
{
	const uint32_t unknown = (uint32_t)maker->profile->n_functions + module;
	uint64_t done = 0;
	struct rf_error *error = NULL;
	for (size_t i = 0; !error && i < n; i++) {
		const struct model_range gap = {module, done, functions[i].start, unknown};
		error = groups_add_range(&maker->base, gap);
		if (!error)
			error = groups_add_range(&maker->base, functions[i]);
		done = functions[i].end > done ? functions[i].end : done;
	}
	const struct model_range rest = {module, done, UINT64_MAX, unknown};
	return error ? error : groups_add_range(&maker->base, rest);
}

static struct rf_error *find_all_code(struct maker *maker)
{
	const struct profile *profile = maker->profile;
	struct code_ranges functions = {0};
	struct rf_error *error = NULL;
	for (size_t i = 0; !error && i < profile->n_functions; i++) {
		const struct profile_function *f = &profile->functions[i];
		const struct model_range range = {f->module, f->start, f->end, (uint32_t)i};
		error = groups_add_range(&functions, range);
	}
	groups_cut_overlaps(&functions);
	for (size_t module = 0, at = 0; !error && module < profile->n_modules; module++) {
		const size_t first = at;
		while (at < functions.n && functions.all[at].module == module)
			at++;
		error = add_module(maker, (uint32_t)module, functions.all + first, at - first);
	}
	free(functions.all);
	return error;
}

/* ---- rows ---- */

struct rf_error *groups_add(struct grouping *out, char *name, const char *module, uint32_t function,
			    bool left_out, uint32_t *group)
{
	const struct model_group row = {name, module, function, left_out};
	assert(out->n_rows < PROFILE_NONE);
	*group = (uint32_t)out->n_rows;
	if (name && rf_array_push(out->rows, out->n_rows, out->cap_rows, row))
		return NULL;
	free(name);
	return rf_error_no_memory();
}

const char *groups_module_of(const struct maker *maker, uint32_t plain)
{
	const struct profile *profile = maker->profile;
	assert(plain < profile->n_functions + profile->n_modules);
	if (plain < profile->n_functions)
		return profile->modules[profile->functions[plain].module].name;
	return profile->modules[plain - profile->n_functions].name;
}

enum kind groups_kind(const struct maker *maker, uint32_t plain)
{
	const struct report_filter *filter = &maker->filter;
	const char *module = groups_module_of(maker, plain);
	const char *name = plain < maker->profile->n_functions
				   ? maker->profile->functions[plain].name
				   : module;
	if (report_filter_ignore(filter, name) || report_filter_ignore(filter, module))
		return KIND_IGNORED;
	return report_filter_focus(filter, name) || report_filter_focus(filter, module)
		       ? KIND_IN
		       : KIND_BEHIND;
}

struct rf_error *groups_init(struct maker *maker)
{
	const size_t n = maker->profile->n_functions + maker->profile->n_modules + 1;
	const size_t n_over = maker->profile->n_lines + maker->view->model->n_loop_code +
			      maker->profile->n_inlined_functions + 1;
	uint32_t group;
	maker->plain = malloc(n * sizeof(*maker->plain));
	maker->named = malloc(n_over * sizeof(*maker->named));
	maker->functions = calloc(n, sizeof(*maker->functions));
	if (!maker->plain || !maker->named || !maker->functions)
		return rf_error_no_memory();
	for (size_t i = 0; i < maker->view->model->n_functions; i++) {
		const struct model_function *function = &maker->view->model->functions[i];
		if (function->function != PROFILE_NONE && !function->uncounted_part)
			maker->functions[function->function] = function;
	}
	memset(maker->plain, 0xff, n * sizeof(*maker->plain));
	memset(maker->named, 0xff, n_over * sizeof(*maker->named));
	struct rf_error *error =
		groups_add(maker->out, strdup("(left out)"), "", PROFILE_NONE, true, &group);
	return error ? error : find_all_code(maker);
}

void groups_deinit(struct maker *maker)
{
	report_filter_deinit(&maker->filter);
	free(maker->base.all);
	free(maker->over.all);
	free(maker->named);
	free(maker->functions);
	free(maker->plain);
	free(maker->own);
	free(maker->body);
	free(maker->loop_calls);
}
