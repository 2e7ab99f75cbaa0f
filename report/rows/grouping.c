/* Rows other than functions: code and threads are given rows of their own, and the model does the
 * rest. */
#include "report/rows/grouping.h"

#include "base/array.h"
#include "report/rows/view.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- all code, and parts of it ---- */

static int compare_ranges(const void *a, const void *b)
{
	const struct model_range *x = a, *y = b;
	if (x->module != y->module)
		return x->module < y->module ? -1 : 1;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->row < y->row ? -1 : x->row > y->row;
}

static bool add_range(struct model_range **items, size_t *n, size_t *cap, struct model_range range)
{
	return range.start >= range.end || rf_array_push(*items, *n, *cap, range);
}

/* A range ends where the next one begins. */
static void cut_overlaps(struct model_range *ranges, size_t n)
{
	if (n)
		qsort(ranges, n, sizeof(*ranges), compare_ranges);
	for (size_t i = 0; i + 1 < n; i++)
		if (ranges[i].module == ranges[i + 1].module && ranges[i].end > ranges[i + 1].start)
			ranges[i].end = ranges[i + 1].start;
}

static bool add_module(struct maker *maker, uint32_t module, const struct model_range *functions,
		       size_t n)
{
	const uint32_t unknown = (uint32_t)maker->profile->n_functions + module;
	uint64_t done = 0;
	bool ok = true;
	for (size_t i = 0; ok && i < n; i++) {
		struct model_range gap = {module, done, functions[i].start, unknown};
		ok = add_range(&maker->base, &maker->n_base, &maker->cap_base, gap) &&
		     add_range(&maker->base, &maker->n_base, &maker->cap_base, functions[i]);
		done = functions[i].end > done ? functions[i].end : done;
	}
	struct model_range rest = {module, done, UINT64_MAX, unknown};
	return ok && add_range(&maker->base, &maker->n_base, &maker->cap_base, rest);
}

static bool find_all_code(struct maker *maker)
{
	const struct profile *profile = maker->profile;
	const size_t n = profile->n_functions;
	struct model_range *functions = malloc((n + 1) * sizeof(*functions));
	bool ok = functions != NULL;
	for (size_t i = 0; ok && i < n; i++)
		functions[i] = (struct model_range){profile->functions[i].module,
						    profile->functions[i].start,
						    profile->functions[i].end, (uint32_t)i};
	if (ok)
		cut_overlaps(functions, n);
	for (size_t module = 0, at = 0; ok && module < profile->n_modules; module++) {
		const size_t first = at;
		while (at < n && functions[at].module == module)
			at++;
		ok = add_module(maker, (uint32_t)module, functions + first, at - first);
	}
	free(functions);
	return ok;
}

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

/* Rows of the overlay: the first of the lines that are the same one. */
static bool find_lines(struct maker *maker)
{
	const struct profile *profile = maker->profile;
	const size_t n = profile->n_lines;
	uint32_t *order = malloc((n + 1) * sizeof(*order));
	bool ok = order != NULL;
	for (size_t i = 0; ok && i < n; i++)
		order[i] = (uint32_t)i;
	if (ok)
		qsort_r(order, n, sizeof(*order), compare_lines, profile->lines);
	for (size_t i = 0, first = 0; ok && i < n; i++) {
		const struct profile_line *line = &profile->lines[order[i]];
		if (compare_lines(&order[first], &order[i], profile->lines) != 0)
			first = i;
		ok = add_range(&maker->over, &maker->n_over, &maker->cap_over,
			       (struct model_range){line->module, line->start, line->end,
						    order[first]});
	}
	free(order);
	return ok;
}

/* Rows of the overlay: the first piece of code of the loop. */
static bool find_loops(struct maker *maker)
{
	const struct model *model = maker->view->model;
	uint32_t *first = calloc(model->n_loop_code + 1,
				 sizeof(*first)); /* per loop of the function at hand */
	bool ok = first != NULL;
	for (size_t i = 0; ok && i < model->n_loop_code; i++) {
		const struct model_loop_code *code = &model->loop_code[i];
		const struct model_loop_code *known = &model->loop_code[first[code->loop]];
		if (known->function != code->function || known->loop != code->loop)
			first[code->loop] = (uint32_t)i;
		ok = add_range(&maker->over, &maker->n_over, &maker->cap_over,
			       (struct model_range){code->module, code->start, code->end,
						    first[code->loop]});
	}
	free(first);
	return ok;
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
	size_t low = 0, high = profile->n_inlined_functions;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		if (compare_inlined(profile, order[middle], function->module, function->name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < profile->n_inlined_functions; low++) {
		const char *file = profile->inlined_functions[order[low]].file;
		if (compare_inlined(profile, order[low], function->module, function->name) != 0)
			break;
		if (!file[0] || !function->file[0] || strcmp(file, function->file) == 0)
			return order[low];
	}
	return PROFILE_NONE;
}

static bool match_bodies(struct maker *maker)
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
	return ok;
}

/* Rows of the overlay: the innermost inlined functions. */
static bool find_inlined(struct maker *maker)
{
	const struct profile *profile = maker->profile;
	bool ok = match_bodies(maker);
	for (size_t i = 0; ok && i < profile->n_inlined_code; i++) {
		const struct profile_inlined_code *code = &profile->inlined_code[i];
		ok = add_range(&maker->over, &maker->n_over, &maker->cap_over,
			       (struct model_range){code->module, code->start, code->end,
						    profile->inlined_calls[code->call].function});
	}
	return ok;
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

static const char *module_of(const struct maker *maker, uint32_t plain)
{
	const struct profile *profile = maker->profile;
	if (plain < profile->n_functions)
		return profile->modules[profile->functions[plain].module].name;
	return profile->modules[plain - profile->n_functions].name;
}

static char *name_plain(const struct maker *maker, uint32_t plain)
{
	const enum report_by by = maker->by;
	const char *suffix = by == BY_LINE ? " (no line)" : by == BY_LOOP ? " (no loop)" : "";
	const struct profile *profile = maker->profile;
	char *name = NULL;
	int n = by == BY_MODULE ? asprintf(&name, "%s", module_of(maker, plain))
		: plain < profile->n_functions
			? asprintf(&name, "%s%s", profile->functions[plain].name, suffix)
			: asprintf(&name, "[unknown in %s]%s", module_of(maker, plain), suffix);
	return n < 0 ? NULL : name;
}

static char *name_over(struct maker *maker, uint32_t row)
{
	char *name = NULL, number[64], line[160];
	if (maker->by == BY_LINE) {
		const struct profile_line *at = &maker->profile->lines[row];
		const char *slash = strrchr(at->file, '/');
		return asprintf(&name, "%s:%" PRIu32, slash ? slash + 1 : at->file, at->line) < 0
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

bool grouping_new(struct grouping *out, char *name, const char *module, uint32_t function,
		  bool left_out, uint32_t *group)
{
	struct model_group row = {name, module, function, left_out};
	*group = (uint32_t)out->n_rows;
	if (name && rf_array_push(out->rows, out->n_rows, out->cap_rows, row))
		return true;
	free(name);
	return false;
}

/* ---- groups of code ---- */

/* The group of a row of the plain model, or of a row of the overlay. */
static bool group_of(struct maker *maker, uint32_t plain, uint32_t over, uint32_t *group)
{
	const bool modules = maker->by == BY_MODULE;
	const uint32_t n = (uint32_t)maker->profile->n_functions;
	if (maker->own && over == PROFILE_NONE && plain < n)
		over = maker->own[plain];
	const uint32_t function = maker->body && over != PROFILE_NONE ? maker->body[over] : plain;
	const uint32_t home =
		!modules || plain >= n ? plain : n + maker->profile->functions[plain].module;
	uint32_t *known = over == PROFILE_NONE ? &maker->plain[home] : &maker->named[over];
	if (*known == PROFILE_NONE &&
	    !grouping_new(maker->out,
			  over == PROFILE_NONE ? name_plain(maker, home) : name_over(maker, over),
			  module_of(maker, plain),
			  !modules && function < n ? function : PROFILE_NONE, false, known))
		return false;
	*group = *known;
	return true;
}

enum kind grouping_kind(const struct maker *maker, uint32_t plain)
{
	const struct report_filter *filter = &maker->filter;
	const char *module = module_of(maker, plain);
	const char *name = plain < maker->profile->n_functions
				   ? maker->profile->functions[plain].name
				   : module;
	if (report_filter_ignore(filter, name) || report_filter_ignore(filter, module))
		return KIND_IGNORED;
	return report_filter_focus(filter, name) || report_filter_focus(filter, module)
		       ? KIND_IN
		       : KIND_BEHIND;
}

static bool add_part(struct maker *maker, const struct model_range *code, enum kind kind,
		     uint64_t start, uint64_t end, uint32_t over)
{
	struct grouping *out = maker->out;
	struct model_range part = {code->module, start, end, LEFT_OUT};
	if (start >= end)
		return true;
	if (kind != KIND_IGNORED && !group_of(maker, code->row, over, &part.row))
		return false;
	const char *name = out->rows[part.row].name;
	if (report_filter_ignore(&maker->filter, name) ||
	    (kind == KIND_BEHIND && !report_filter_focus(&maker->filter, name)))
		part.row = LEFT_OUT;
	return rf_array_push(out->ranges, out->n_ranges, out->cap_ranges, part);
}

static bool is_before(const struct model_range *range, const struct model_range *code)
{
	return range->module < code->module ||
	       (range->module == code->module && range->end <= code->start);
}

/* All code, cut where the overlay's parts begin and end. */
static bool group_code(struct maker *maker)
{
	size_t at = 0;
	cut_overlaps(maker->over, maker->n_over);
	for (size_t i = 0; i < maker->n_base; i++) {
		const struct model_range *code = &maker->base[i];
		const bool wanted = maker->only == PROFILE_NONE || maker->only == code->row;
		const enum kind kind = wanted ? grouping_kind(maker, code->row) : KIND_IGNORED;
		uint64_t done = code->start;
		while (at < maker->n_over && is_before(&maker->over[at], code))
			at++;
		for (size_t k = at; k < maker->n_over && maker->over[k].module == code->module &&
				    maker->over[k].start < code->end;
		     k++) {
			const struct model_range *over = &maker->over[k];
			const uint64_t start = over->start > done ? over->start : done;
			const uint64_t end = over->end < code->end ? over->end : code->end;
			if (!add_part(maker, code, kind, done, start, PROFILE_NONE) ||
			    !add_part(maker, code, kind, start, end, over->row))
				return false;
			done = end > done ? end : done;
		}
		if (!add_part(maker, code, kind, done, code->end, PROFILE_NONE))
			return false;
	}
	return true;
}

/* ---- both ---- */

static bool maker_init(struct maker *maker)
{
	const size_t n = maker->profile->n_functions + maker->profile->n_modules + 1;
	const size_t n_over = maker->profile->n_lines + maker->view->model->n_loop_code +
			      maker->profile->n_inlined_functions + 1;
	uint32_t group;
	maker->plain = malloc(n * sizeof(*maker->plain));
	maker->named = malloc(n_over * sizeof(*maker->named));
	maker->functions = calloc(n, sizeof(*maker->functions));
	if (!maker->plain || !maker->named || !maker->functions)
		return false;
	for (size_t i = 0; i < maker->view->model->n_functions; i++) {
		const struct model_function *function = &maker->view->model->functions[i];
		if (function->function != PROFILE_NONE && !function->uncounted_part)
			maker->functions[function->function] = function;
	}
	memset(maker->plain, 0xff, n * sizeof(*maker->plain));
	memset(maker->named, 0xff, n_over * sizeof(*maker->named));
	return grouping_new(maker->out, strdup("(left out)"), "", PROFILE_NONE, true, &group) &&
	       find_all_code(maker);
}

static bool make_groups(struct maker *maker)
{
	const enum report_by by = maker->by;
	if (!maker_init(maker))
		return false;
	if (by == BY_THREAD || by == BY_PROCESS)
		return grouping_threads(maker);
	if ((by == BY_LINE && !find_lines(maker)) || (by == BY_LOOP && !find_loops(maker)) ||
	    (by == BY_INLINED && !find_inlined(maker)))
		return false;
	return group_code(maker);
}

static struct rf_error *make(struct maker *maker, const struct report_options *options)
{
	struct grouping *out = maker->out;
	*out = (struct grouping){0};
	struct rf_error *error = options ? report_filter_init(&maker->filter, options) : NULL;
	if (!error && !make_groups(maker))
		error = report_no_memory();
	out->groups = (struct model_groups){
		.ranges = out->ranges,
		.n_ranges = out->n_ranges,
		.groups = out->rows,
		.n_groups = out->n_rows,
		.by_thread = out->by_thread,
		.n_kinds = out->by_thread ? N_KINDS : 0,
		.uncounted = maker->view->model->uncounted_samples,
	};
	report_filter_deinit(&maker->filter);
	free(maker->base);
	free(maker->over);
	free(maker->named);
	free(maker->functions);
	free(maker->plain);
	free(maker->own);
	free(maker->body);
	free(maker->loop_calls);
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
