/* Rows other than functions: code and threads are given rows of their own, and the model does the
 * rest.  All code of the plain model is cut into ranges that do not overlap, and each range goes to
 * a row. */
#include "report/rows/grouping.h"

#include "base/array.h"
#include "base/hash.h"
#include "base/search.h"
#include "base/sort_by.h"
#include "base/u64_map.h"
#include "profile/function_index.h"
#include "report/model/model_rows.h"
#include "report/rows/code_names.h"
#include "report/rows/code_ranges.h"
#include "report/rows/filter.h"
#include "report/rows/kernel_samples.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEFT_OUT 0 /* the row of what is left out */

struct maker {
	const struct report_view *view;
	const struct profile *profile;
	enum report_by by;
	/* Code of that function alone (row in profile->functions), or PROFILE_NONE. */
	uint32_t only;
	/* BY_INLINED: per function its row in inlined_functions, or PROFILE_NONE; per row of
	 * inlined_functions the function, or PROFILE_NONE. */
	uint32_t *own, *body;
	/* report_calls_of_loops of the function whose loops were named last. */
	uint32_t *loop_calls;
	uint32_t loop_function;
	char *program; /* BY_THREAD, BY_PROCESS: what rows of no owner are called */
	struct report_filter filter;
	struct code_ranges base; /* all code; row: the plain model's */
	struct code_ranges over; /* an overlay, parts of that code; row: in `named` */
	uint32_t *named;         /* per row of the overlay: group, or PROFILE_NONE */
	uint32_t *plain;         /* per row of the plain model: group, or PROFILE_NONE */
	/* Of the plain model, per function of the profile. */
	const struct model_function **functions;
	struct model_groups *out;
};

/* ---- rows ---- */

/* Adds a row; takes the name, and NULL for want of memory.  *group: its number. */
static struct rf_error *add_row(struct model_groups *out, char *name, const char *module,
				uint32_t function, bool left_out, uint32_t *group)
{
	const struct model_group row = {name, module, function, left_out};
	assert(out->n_groups < PROFILE_NONE);
	*group = (uint32_t)out->n_groups;
	if (name && rf_array_push(out->groups, out->n_groups, out->cap_groups, row))
		return NULL;
	free(name);
	return rf_error_no_memory();
}

/* Finds all code, and makes the row of what is left out. */
static struct rf_error *maker_init(struct maker *maker)
{
	const size_t n = profile_n_places(maker->profile);
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
		add_row(maker->out, strdup("(left out)"), "", PROFILE_NONE, true, &group);
	return error ?: code_ranges_find(maker->profile, &maker->base);
}

static void maker_deinit(struct maker *maker)
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
	free(maker->program);
}

/* ---- overlays ---- */

static int compare_lines(const void *a, const void *b, void *context)
{
	const struct profile_line *lines = context, *x = &lines[*(const uint32_t *)a],
				  *y = &lines[*(const uint32_t *)b];
	return rf_compare(x->module, y->module) ?: rf_compare(x->line, y->line)
	       ?: strcmp(x->file, y->file);
}

/* The overlay of source lines.  Pieces of code of the same line share a row, that of its first
 * piece. */
static struct rf_error *find_lines(struct maker *maker)
{
	const struct profile *profile = maker->profile;
	const size_t n = profile->n_lines;
	uint32_t *order = model_sorted(n, compare_lines, profile->lines);
	struct rf_error *error = order ? NULL : rf_error_no_memory();
	for (size_t i = 0, first = 0; !error && i < n; i++) {
		const struct profile_line *line = &profile->lines[order[i]];
		if (compare_lines(&order[first], &order[i], profile->lines) != 0)
			first = i;
		error = code_ranges_add(&maker->over,
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
		error = code_ranges_add(&maker->over,
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
	return rf_compare(inlined->module, module) ?: strcmp(inlined->name, name);
}

static int compare_inlined_rows(const void *a, const void *b, void *context)
{
	const struct profile *profile = context;
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const struct profile_inlined_function *other = &profile->inlined_functions[y];
	return compare_inlined(profile, x, other->module, other->name) ?: rf_compare(x, y);
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

/* The overlay of inlined functions: a piece of code belongs to the innermost one. */
static struct rf_error *find_inlined(struct maker *maker)
{
	const struct profile *profile = maker->profile;
	const size_t n = profile->n_inlined_functions;
	uint32_t *order = model_sorted(n, compare_inlined_rows, (void *)profile);
	maker->own = malloc((profile->n_functions + 1) * sizeof(*maker->own));
	maker->body = malloc((n + 1) * sizeof(*maker->body));
	struct rf_error *error = order && maker->own && maker->body ? NULL : rf_error_no_memory();
	if (!error)
		memset(maker->body, 0xff, n * sizeof(*maker->body));
	for (size_t i = 0; !error && i < profile->n_functions; i++) {
		maker->own[i] = inlined_of(profile, order, &profile->functions[i]);
		if (maker->own[i] != PROFILE_NONE)
			maker->body[maker->own[i]] = (uint32_t)i;
	}
	free(order);
	for (size_t i = 0; !error && i < profile->n_inlined_code; i++) {
		const struct profile_inlined_code *code = &profile->inlined_code[i];
		error = code_ranges_add(
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
	int n = by == BY_MODULE ? asprintf(&name, "%s", model_place_module(maker->profile, plain))
		: plain < profile->n_functions
			? asprintf(&name, "%s%s", profile->functions[plain].name, suffix)
			: asprintf(&name, "[unknown in %s]%s",
				   model_place_module(maker->profile, plain), suffix);
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
		error = add_row(maker->out,
				over == PROFILE_NONE ? name_plain(maker, home)
						     : name_over(maker, over),
				model_place_module(maker->profile, plain),
				!modules && function < n ? function : PROFILE_NONE, false, known);
	*group = *known;
	if (!error && maker->by == BY_FUNCTION && function < n && maker->functions[function])
		maker->out->groups[*known].code = maker->functions[function]->code;
	return error;
}

static struct rf_error *add_part(struct maker *maker, const struct model_range *code,
				 enum report_kind kind, uint64_t start, uint64_t end, uint32_t over)
{
	struct model_groups *out = maker->out;
	struct model_range part = {code->module, start, end, LEFT_OUT};
	struct rf_error *error = NULL;
	if (start >= end)
		return NULL;
	if (kind != KIND_IGNORED)
		error = group_of(maker, code->row, over, &part.row);
	if (error)
		return error;
	const char *name = out->groups[part.row].name;
	const enum report_kind of_name = report_filter_kind(&maker->filter, name, name);
	if (of_name == KIND_IGNORED || (kind == KIND_BEHIND && of_name == KIND_BEHIND))
		part.row = LEFT_OUT;
	return rf_array_add(out->ranges, out->n_ranges, out->cap_ranges, part);
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
	const enum report_kind kind =
		wanted ? report_row_kind(&maker->filter, maker->profile, code->row) : KIND_IGNORED;
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
		error = add_part(maker, code, kind, done, start, PROFILE_NONE)
				?: add_part(maker, code, kind, start, end, part->row);
		done = end > done ? end : done;
	}
	return error ?: add_part(maker, code, kind, done, code->end, PROFILE_NONE);
}

static struct rf_error *group_code(struct maker *maker)
{
	size_t at = 0;
	struct rf_error *error = NULL;
	code_ranges_cut(&maker->over);
	for (size_t i = 0; !error && i < maker->base.n; i++)
		error = cut_code(maker, &maker->base.all[i], &at);
	return error;
}

/* ---- threads, processes and kernels ---- */

struct owners {
	uint32_t *process_of;  /* per row of profile->processes: its row in model->processes */
	struct u64_map groups; /* of each owner, by its number and 1 */
	struct u64_map names;  /* how many have a name, by its hash */
};

static struct rf_error *owners_init(const struct maker *maker, struct owners *owners)
{
	const struct model *model = maker->view->model;
	const size_t n = maker->profile->n_processes;
	owners->process_of = malloc((n + 1) * sizeof(*owners->process_of));
	if (!owners->process_of)
		return rf_error_no_memory();
	memset(owners->process_of, 0xff, n * sizeof(*owners->process_of));
	for (uint32_t i = (uint32_t)model->n_processes; i-- > 0;) {
		const struct model_process *process = &model->processes[i];
		if (process->timed != PROFILE_NONE)
			owners->process_of[process->timed] = i;
		if (process->counted != PROFILE_NONE)
			owners->process_of[process->counted] = i;
	}
	return NULL;
}

/* What threads have in common: of a process, its row in model->processes; of a thread, that of the
 * timed run.  Of a kernel its row. */
static uint32_t owner_of(const struct maker *maker, const struct owners *owners, uint32_t thread)
{
	if (maker->by == BY_KERNEL)
		return thread ? thread - 1 : PROFILE_NONE;
	const struct model *model = maker->view->model;
	const uint32_t twin = model->twin_of_thread[thread];
	if (maker->by == BY_THREAD)
		return maker->profile->threads[thread].run == RUN_TIMED || twin == PROFILE_NONE
			       ? thread
			       : twin;
	const uint32_t row = model->process_of_thread[thread];
	return row != PROFILE_NONE ? owners->process_of[row] : PROFILE_NONE;
}

static const char *owner_name(const struct maker *maker, uint32_t owner)
{
	const struct profile *profile = maker->profile;
	if (owner == PROFILE_NONE)
		return maker->by == BY_KERNEL ? "(outside of kernels)" : maker->program;
	if (maker->by == BY_KERNEL)
		return profile->kernels[owner].name;
	const char *name = profile->threads[owner].name;
	if (maker->by == BY_PROCESS) {
		const struct model_process *process = &maker->view->model->processes[owner];
		const bool timed = process->timed != PROFILE_NONE;
		name = profile->processes[timed ? process->timed : process->counted].command;
	}
	return *name ? name : "?";
}

static struct rf_error *add_owner(struct maker *maker, struct owners *owners, uint32_t owner,
				  uint32_t *group)
{
	const uint64_t key = (uint64_t)owner + 1;
	const uint32_t *known = u64_map_find(&owners->groups, key);
	if (known) {
		*group = *known;
		return NULL;
	}
	/* of owners with one name: "worker", "worker #2", … */
	const char *const own = owner_name(maker, owner);
	const uint64_t hash = rf_hash(own, strlen(own)) | 1;
	const uint32_t *others = owner != PROFILE_NONE ? u64_map_find(&owners->names, hash) : NULL;
	const uint32_t same = others ? *others + 1 : 1;
	char *name = NULL;
	if ((owner != PROFILE_NONE && !u64_map_set(&owners->names, hash, same)) ||
	    (same > 1 ? asprintf(&name, "%s #%" PRIu32, own, same) : asprintf(&name, "%s", own)) <
		    0)
		return rf_error_no_memory();
	struct rf_error *error = add_row(maker->out, name, "", PROFILE_NONE, false, group);
	return error || u64_map_set(&owners->groups, key, *group) ? error : rf_error_no_memory();
}

static struct rf_error *group_threads(struct maker *maker)
{
	struct model_groups *out = maker->out;
	const bool kernels = maker->by == BY_KERNEL;
	const size_t n = kernels ? maker->profile->n_kernels + 1 : maker->profile->n_threads;
	struct owners owners = {0};
	uint32_t unused;
	out->n_kinds = N_KINDS;
	out->n_owners = n;
	out->by_owner = calloc(N_KINDS * n + 1, sizeof(*out->by_owner));
	out->kernel_of_sample = kernels ? kernel_samples(maker->profile) : NULL;
	maker->program = report_program(maker->profile);
	struct rf_error *error =
		out->by_owner && maker->program && (out->kernel_of_sample || !kernels)
			? owners_init(maker, &owners)
			: rf_error_no_memory();
	for (uint32_t t = 0; !error && t < n; t++) {
		uint32_t group;
		error = add_owner(maker, &owners, owner_of(maker, &owners, t), &group);
		if (error)
			break;
		const char *name = out->groups[group].name;
		const enum report_kind kind = report_filter_kind(&maker->filter, name, name);
		if (kind != KIND_IGNORED)
			out->by_owner[KIND_IN * n + t] = group;
		if (kind == KIND_IN)
			out->by_owner[KIND_BEHIND * n + t] = group;
	}
	/* rows of ranges and groups must not be mistaken for rows of unknown code */
	while (!error && out->n_groups < N_KINDS)
		error = add_row(out, strdup(""), "", PROFILE_NONE, false, &unused);
	for (size_t i = 0; !error && i < maker->base.n; i++) {
		struct model_range range = maker->base.all[i];
		range.row = report_row_kind(&maker->filter, maker->profile, range.row);
		error = rf_array_add(out->ranges, out->n_ranges, out->cap_ranges, range);
	}
	free(owners.process_of);
	u64_map_deinit(&owners.groups);
	u64_map_deinit(&owners.names);
	return error;
}

/* ---- both ---- */

static struct rf_error *make_groups(struct maker *maker)
{
	const enum report_by by = maker->by;
	struct rf_error *error = maker_init(maker);
	if (error || by == BY_THREAD || by == BY_PROCESS || by == BY_KERNEL)
		return error ?: group_threads(maker);
	if (by == BY_LINE)
		error = find_lines(maker);
	if (by == BY_LOOP)
		error = find_loops(maker);
	if (by == BY_INLINED)
		error = find_inlined(maker);
	return error ?: group_code(maker);
}

static struct rf_error *make(const struct report_view *view, enum report_by by, uint32_t only,
			     const struct report_options *options, struct model_groups *out)
{
	struct maker maker = {.view = view,
			      .profile = view->profile,
			      .by = by,
			      .only = only,
			      .loop_function = PROFILE_NONE,
			      .out = out};
	*out = (struct model_groups){.uncounted = view->model->uncounted_samples};
	struct rf_error *error = options ? report_filter_init(&maker.filter, options) : NULL;
	error = error ?: make_groups(&maker);
	maker_deinit(&maker);
	if (error)
		grouping_destroy(out);
	return error;
}

struct rf_error *grouping_create(const struct report_view *view, struct model_groups *out)
{
	return make(view, view->options->by, PROFILE_NONE, view->options, out);
}

struct rf_error *grouping_of_function(const struct report_view *view, uint32_t function,
				      struct model_groups *out)
{
	return make(view, BY_INLINED, function, NULL, out);
}

void grouping_destroy(struct model_groups *groups)
{
	for (size_t i = 0; i < groups->n_groups; i++)
		free(groups->groups[i].name);
	free(groups->groups);
	free(groups->ranges);
	free(groups->by_owner);
	free(groups->kernel_of_sample);
	*groups = (struct model_groups){0};
}
