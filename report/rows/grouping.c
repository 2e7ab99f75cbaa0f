/* Rows other than functions: code and threads are given rows of their own, and the model does the
 * rest. */
#include "report/rows/grouping.h"

#include "base/array.h"
#include "base/search.h"
#include "report/rows/code_names.h"
#include "report/rows/grouping_threads.h"
#include "report/rows/groups.h"
#include "report/rows/inlined_names.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int compare_lines(const void *a, const void *b, void *context)
{
	const struct profile_line *lines = context, *x = &lines[*(const uint32_t *)a],
				  *y = &lines[*(const uint32_t *)b];
	if (x->module != y->module)
		return x->module < y->module ? -1 : 1;
	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	return strcmp(x->file, y->file);
}

/* The overlay of source lines.  Pieces of code of the same line share a row, that of its first
 * piece. */
static struct rf_error *find_lines(struct maker *maker)
{
	const struct profile *profile = maker->profile;
	const size_t n = profile->n_lines;
	uint32_t *order = malloc((n + 1) * sizeof(*order));
	struct rf_error *error = NULL;
	if (!order)
		return rf_error_no_memory();
	for (size_t i = 0; i < n; i++)
		order[i] = (uint32_t)i;
	qsort_r(order, n, sizeof(*order), compare_lines, profile->lines);
	for (size_t i = 0, first = 0; !error && i < n; i++) {
		const struct profile_line *line = &profile->lines[order[i]];
		if (compare_lines(&order[first], &order[i], profile->lines) != 0)
			first = i;
		error = groups_add_range(&maker->over,
					 (struct model_range){line->module, line->start, line->end,
							      order[first]});
	}
	free(order);
	return error;
}

/* The overlay of loops.  Pieces of code of the same loop share a row, that of its first piece. */
static struct rf_error *find_loops(struct maker *maker)
{
	const struct model *model = maker->view->model;
	/* per loop of the function at hand */
	uint32_t *first = calloc(model->n_loop_code + 1, sizeof(*first));
	struct rf_error *error = first ? NULL : rf_error_no_memory();
	for (size_t i = 0; !error && i < model->n_loop_code; i++) {
		const struct model_loop_code *code = &model->loop_code[i];
		const struct model_loop_code *known = &model->loop_code[first[code->loop]];
		if (known->function != code->function || known->loop != code->loop)
			first[code->loop] = (uint32_t)i;
		error = groups_add_range(&maker->over,
					 (struct model_range){code->module, code->start, code->end,
							      first[code->loop]});
	}
	free(first);
	return error;
}

/* ---- inlined functions ---- */

static int compare_inlined(const struct profile *profile, uint32_t row, uint32_t module,
			   const char *name)
{
	const struct profile_inlined_function *inlined = &profile->inlined_functions[row];
	if (inlined->module != module)
		return inlined->module < module ? -1 : 1;
	return strcmp(inlined->name, name);
}

static int compare_inlined_rows(const void *a, const void *b, void *context)
{
	const struct profile *profile = context;
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const struct profile_inlined_function *other = &profile->inlined_functions[y];
	const int order = compare_inlined(profile, x, other->module, other->name);
	return order ? order : x < y ? -1 : x > y;
}

/* The inlined function that is the same one; those of one name in several files are told apart by
 * the file. */
static uint32_t inlined_of(const struct profile *profile, const uint32_t *order,
			   const struct profile_function *function)
{
	const size_t n = profile->n_inlined_functions;
	for (size_t i = rf_search(n, k,
				  compare_inlined(profile, order[k], function->module,
						  function->name) < 0);
	     i < n; i++) {
		const char *file = profile->inlined_functions[order[i]].file;
		if (compare_inlined(profile, order[i], function->module, function->name) != 0)
			break;
		if (!file[0] || !function->file[0] || strcmp(file, function->file) == 0)
			return order[i];
	}
	return PROFILE_NONE;
}

static struct rf_error *match_bodies(struct maker *maker)
{
	const struct profile *profile = maker->profile;
	const size_t n = profile->n_inlined_functions;
	uint32_t *order = malloc((n + 1) * sizeof(*order));
	maker->own = malloc((profile->n_functions + 1) * sizeof(*maker->own));
	maker->body = malloc((n + 1) * sizeof(*maker->body));
	const bool ok = order && maker->own && maker->body;
	for (size_t i = 0; ok && i < n; i++) {
		order[i] = (uint32_t)i;
		maker->body[i] = PROFILE_NONE;
	}
	if (ok)
		qsort_r(order, n, sizeof(*order), compare_inlined_rows, (void *)profile);
	for (size_t i = 0; ok && i < profile->n_functions; i++) {
		maker->own[i] = inlined_of(profile, order, &profile->functions[i]);
		if (maker->own[i] != PROFILE_NONE)
			maker->body[maker->own[i]] = (uint32_t)i;
	}
	free(order);
	return ok ? NULL : rf_error_no_memory();
}

/* The overlay of inlined functions: a piece of code belongs to the innermost one. */
static struct rf_error *find_inlined(struct maker *maker)
{
	const struct profile *profile = maker->profile;
	struct rf_error *error = match_bodies(maker);
	for (size_t i = 0; !error && i < profile->n_inlined_code; i++) {
		const struct profile_inlined_code *code = &profile->inlined_code[i];
		error = groups_add_range(
			&maker->over,
			(struct model_range){code->module, code->start, code->end,
					     profile->inlined_calls[code->call].function});
	}
	return error;
}

/* ---- names ---- */

/* ", in dot" for a loop that lies in an inlined function, or "". */
static char *name_inlined(struct maker *maker, const struct model_function *function, uint32_t loop)
{
	char *text = NULL;
	if (maker->loop_function != function->function) {
		free(maker->loop_calls);
		maker->loop_calls = report_calls_of_loops(maker->view, function);
		maker->loop_function = function->function;
	}
	if (!maker->loop_calls)
		return NULL;
	if (maker->loop_calls[loop] == PROFILE_NONE)
		return strdup("");
	return asprintf(&text, ", in %s",
			report_inlined_name(maker->profile, maker->loop_calls[loop])) < 0
		       ? NULL
		       : text;
}

static char *name_plain(const struct maker *maker, uint32_t plain)
{
	const enum report_by by = maker->by;
	const char *suffix = by == BY_LINE ? " (no line)" : by == BY_LOOP ? " (no loop)" : "";
	const struct profile *profile = maker->profile;
	char *name = NULL;
	int n = by == BY_MODULE ? asprintf(&name, "%s", groups_module_of(maker, plain))
		: plain < profile->n_functions
			? asprintf(&name, "%s%s", profile->functions[plain].name, suffix)
			: asprintf(&name, "[unknown in %s]%s", groups_module_of(maker, plain),
				   suffix);
	return n < 0 ? NULL : name;
}

static char *name_over(struct maker *maker, uint32_t row)
{
	char *name = NULL, number[64], line[160];
	if (maker->by == BY_LINE) {
		const struct profile_line *at = &maker->profile->lines[row];
		return asprintf(&name, "%s:%" PRIu32, report_base_name(at->file), at->line) < 0
			       ? NULL
			       : name;
	}
	if (maker->by == BY_INLINED)
		return strdup(maker->profile->inlined_functions[row].name);
	const struct model_loop_code *code = &maker->view->model->loop_code[row];
	const struct model_function *function = maker->functions[code->function];
	const char *of = maker->profile->functions[code->function].name;
	if (!function || code->loop >= function->n_loops)
		return asprintf(&name, "%s loop", of) < 0 ? NULL : name;
	report_loop_number(number, function, code->loop);
	const struct model_loop *loop = &function->loops[code->loop];
	if (!report_line_at(maker->profile, code->module, loop->header, line, sizeof(line)))
		snprintf(line, sizeof(line), "+0x%" PRIx64,
			 loop->header - maker->profile->functions[code->function].start);
	char *inlined = name_inlined(maker, function, code->loop);
	if (!inlined || asprintf(&name, "%s %s (%s%s)", of, number, line, inlined) < 0)
		name = NULL;
	free(inlined);
	return name;
}

/* ---- groups of code ---- */

/* The group of a row of the plain model, or of a row of the overlay. */
static struct rf_error *group_of(struct maker *maker, uint32_t plain, uint32_t over,
				 uint32_t *group)
{
	const bool modules = maker->by == BY_MODULE;
	const uint32_t n = (uint32_t)maker->profile->n_functions;
	if (maker->own && over == PROFILE_NONE && plain < n)
		over = maker->own[plain];
	const uint32_t function = maker->body && over != PROFILE_NONE ? maker->body[over] : plain;
	const uint32_t home =
		!modules || plain >= n ? plain : n + maker->profile->functions[plain].module;
	uint32_t *known = over == PROFILE_NONE ? &maker->plain[home] : &maker->named[over];
	struct rf_error *error = NULL;
	if (*known == PROFILE_NONE)
		error = groups_add(maker->out,
				   over == PROFILE_NONE ? name_plain(maker, home)
							: name_over(maker, over),
				   groups_module_of(maker, plain),
				   !modules && function < n ? function : PROFILE_NONE, false,
				   known);
	*group = *known;
	return error;
}

static struct rf_error *add_part(struct maker *maker, const struct model_range *code,
				 enum kind kind, uint64_t start, uint64_t end, uint32_t over)
{
	struct grouping *out = maker->out;
	struct model_range part = {code->module, start, end, LEFT_OUT};
	struct rf_error *error = NULL;
	if (start >= end)
		return NULL;
	if (kind != KIND_IGNORED)
		error = group_of(maker, code->row, over, &part.row);
	if (error)
		return error;
	const char *name = out->rows[part.row].name;
	if (report_filter_ignore(&maker->filter, name) ||
	    (kind == KIND_BEHIND && !report_filter_focus(&maker->filter, name)))
		part.row = LEFT_OUT;
	return rf_array_push(out->ranges, out->n_ranges, out->cap_ranges, part)
		       ? NULL
		       : rf_error_no_memory();
}

static bool is_before(const struct model_range *range, const struct model_range *code)
{
	return range->module < code->module ||
	       (range->module == code->module && range->end <= code->start);
}

/* A range of code, cut where parts of the overlay begin and end; *at: the first that may touch it.
 */
static struct rf_error *cut_code(struct maker *maker, const struct model_range *code, size_t *at)
{
	const struct code_ranges *over = &maker->over;
	const bool wanted = maker->only == PROFILE_NONE || maker->only == code->row;
	const enum kind kind = wanted ? groups_kind(maker, code->row) : KIND_IGNORED;
	uint64_t done = code->start;
	struct rf_error *error = NULL;
	while (*at < over->n && is_before(&over->all[*at], code))
		++*at;
	for (size_t k = *at; !error && k < over->n && over->all[k].module == code->module &&
			     over->all[k].start < code->end;
	     k++) {
		const struct model_range *part = &over->all[k];
		const uint64_t start = part->start > done ? part->start : done;
		const uint64_t end = part->end < code->end ? part->end : code->end;
		error = add_part(maker, code, kind, done, start, PROFILE_NONE);
		if (!error)
			error = add_part(maker, code, kind, start, end, part->row);
		done = end > done ? end : done;
	}
	return error ? error : add_part(maker, code, kind, done, code->end, PROFILE_NONE);
}

static struct rf_error *group_code(struct maker *maker)
{
	size_t at = 0;
	struct rf_error *error = NULL;
	groups_cut_overlaps(&maker->over);
	for (size_t i = 0; !error && i < maker->base.n; i++)
		error = cut_code(maker, &maker->base.all[i], &at);
	return error;
}

/* ---- both ---- */

static struct rf_error *make_groups(struct maker *maker)
{
	const enum report_by by = maker->by;
	struct rf_error *error = groups_init(maker);
	if (error || by == BY_THREAD || by == BY_PROCESS)
		return error ? error : grouping_threads(maker);
	if (by == BY_LINE)
		error = find_lines(maker);
	if (by == BY_LOOP)
		error = find_loops(maker);
	if (by == BY_INLINED)
		error = find_inlined(maker);
	return error ? error : group_code(maker);
}

static struct rf_error *make(struct maker *maker, const struct report_options *options)
{
	struct grouping *out = maker->out;
	*out = (struct grouping){0};
	struct rf_error *error = options ? report_filter_init(&maker->filter, options) : NULL;
	if (!error)
		error = make_groups(maker);
	out->groups = (struct model_groups){
		.ranges = out->ranges,
		.n_ranges = out->n_ranges,
		.groups = out->rows,
		.n_groups = out->n_rows,
		.by_thread = out->by_thread,
		.n_kinds = out->by_thread ? N_KINDS : 0,
		.uncounted = maker->view->model->uncounted_samples,
	};
	groups_deinit(maker);
	if (error)
		grouping_destroy(out);
	return error;
}

struct rf_error *grouping_create(const struct report_view *view, struct grouping *out)
{
	struct maker maker = {.view = view,
			      .profile = view->profile,
			      .by = view->options->by,
			      .only = PROFILE_NONE,
			      .loop_function = PROFILE_NONE,
			      .out = out};
	return make(&maker, view->options);
}

struct rf_error *grouping_of_function(const struct report_view *view, uint32_t function,
				      struct grouping *out)
{
	struct maker maker = {.view = view,
			      .profile = view->profile,
			      .by = BY_INLINED,
			      .only = function,
			      .loop_function = PROFILE_NONE,
			      .out = out};
	return make(&maker, NULL);
}

void grouping_destroy(struct grouping *grouping)
{
	for (size_t i = 0; i < grouping->n_rows; i++)
		free((char *)grouping->rows[i].name);
	free(grouping->rows);
	free(grouping->ranges);
	free(grouping->by_thread);
	*grouping = (struct grouping){0};
}
