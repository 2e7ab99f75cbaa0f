/* Functions out of a profile: rows, names, and the order of the steps. */
#include "report/model/model.h"
#include "profile/roof_index.h"
#include "report/model/model_parts.h"
#include "report/model/model_place.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static int compare_functions(const void *a, const void *b, void *profile)
{
	const struct profile_function *functions = ((const struct profile *)profile)->functions;
	const struct profile_function *x = &functions[*(const uint32_t *)a];
	const struct profile_function *y = &functions[*(const uint32_t *)b];
	if (x->module != y->module)
		return x->module < y->module ? -1 : 1;
	return x->start < y->start ? -1 : x->start > y->start;
}

/* How many functions in `order` stand at or before (module, offset). */
static size_t functions_before(const struct model_rows *rows, uint32_t module, uint64_t offset)
{
	size_t low = 0, high = rows->profile->n_functions;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct profile_function *f = &rows->profile->functions[rows->order[middle]];
		if (f->module < module || (f->module == module && f->start <= offset))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The same among the ranges of groups. */
static size_t ranges_before(const struct model_groups *groups, uint32_t module, uint64_t offset)
{
	size_t low = 0, high = groups->n_ranges;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct model_range *range = &groups->ranges[middle];
		if (range->module < module || (range->module == module && range->start <= offset))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static size_t group_at(const struct model_rows *rows, uint32_t module, uint64_t offset,
		       uint64_t *end)
{
	const size_t n = ranges_before(rows->groups, module, offset);
	const struct model_range *range = n ? &rows->groups->ranges[n - 1] : NULL;
	if (!range || range->module != module || offset >= range->end)
		return rows->n_named + module;
	*end = range->end;
	return range->row;
}

size_t model_row_at(const struct model_rows *rows, uint32_t module, uint64_t offset, uint64_t *end)
{
	const struct profile *profile = rows->profile;
	uint64_t ignored;
	end = end ? end : &ignored;
	*end = UINT64_MAX;
	if (module == PROFILE_NONE)
		return rows->n_named + profile->n_modules;
	if (rows->groups)
		return group_at(rows, module, offset, end);
	size_t n = functions_before(rows, module, offset);
	if (n < profile->n_functions) { /* the next function ends what is known about this one */
		const struct profile_function *next = &profile->functions[rows->order[n]];
		if (next->module == module)
			*end = next->start;
	}
	if (n == 0)
		return profile->n_functions + module;
	const struct profile_function *f = &profile->functions[rows->order[n - 1]];
	if (f->module != module || offset >= f->end)
		return profile->n_functions + module;
	*end = *end < f->end ? *end : f->end;
	return rows->order[n - 1];
}

static bool name_row(const struct model_rows *rows, size_t row)
{
	const struct profile *profile = rows->profile;
	const struct model_groups *groups = rows->groups;
	struct model_function *function = &rows->rows[row];
	function->uncounted_part = row >= rows->n_places;
	row %= rows->n_places;
	function->function = PROFILE_NONE;
	function->row = row;
	if (groups && row < groups->n_groups) {
		const struct model_group *group = &groups->groups[row];
		function->function = group->function;
		function->module = group->module;
		function->left_out = group->left_out;
		return (function->name = strdup(group->name)) != NULL;
	}
	if (row < rows->n_named) {
		const struct profile_function *source = &profile->functions[row];
		function->function = (uint32_t)row;
		function->module = profile->modules[source->module].name;
		return (function->name = strdup(source->name ? source->name : "")) != NULL;
	}
	if (row < rows->n_named + profile->n_modules) {
		function->module = profile->modules[row - rows->n_named].name;
		return asprintf(&function->name, "[unknown in %s]", function->module) >= 0 ||
		       (function->name = NULL);
	}
	function->module = "";
	return (function->name = strdup("[unknown]")) != NULL;
}

bool model_places_init(struct model_rows *rows, const struct profile *profile)
{
	size_t n = profile->n_functions;
	*rows = (struct model_rows){.profile = profile,
				    .n_named = n,
				    .n_places = n + profile->n_modules + 1};
	rows->order = malloc((n + 1) * sizeof(*rows->order));
	if (!rows->order)
		return false;
	for (size_t i = 0; i < n; i++)
		rows->order[i] = (uint32_t)i;
	qsort_r(rows->order, n, sizeof(*rows->order), compare_functions, (void *)profile);
	return true;
}

/* Rows of large programs take a hundred megabytes: to get these page by page is a tenth of the time
 * of a report.  What is not touched still takes none. */
static void use_large_pages(void *memory, size_t bytes)
{
	const uintptr_t page = 2 << 20, begin = ((uintptr_t)memory + page - 1) & -page,
			end = ((uintptr_t)memory + bytes) & -page;
	if (memory && bytes > 4 * page)
		(void)madvise((void *)begin, end - begin, MADV_HUGEPAGE);
}

static bool rows_init(struct model_rows *rows, const struct profile *profile,
		      const struct model_choice *choice)
{
	bool done = model_places_init(rows, profile);
	rows->choice = *choice;
	rows->groups = choice->groups;
	rows->sums = choice->sums && profile->has_sums && !choice->groups && !choice->loops;
	if (rows->groups) {
		rows->n_named = rows->groups->n_groups;
		rows->n_places = rows->n_named + profile->n_modules + 1;
	}
	rows->n_rows = 2 * rows->n_places;
	rows->rows = calloc(rows->n_rows, sizeof(*rows->rows));
	rows->has_part = calloc(rows->n_places, sizeof(*rows->has_part));
	use_large_pages(rows->rows, rows->n_rows * sizeof(*rows->rows));
	return done && rows->rows && rows->has_part;
}

static void function_deinit(struct model_function *function)
{
	free(function->name);
	free(function->threads);
	free(function->loops);
	free(function->quantities);
	model_traffic_destroy(function->traffic);
}

/* The precision with most flop; double where there is no flop at all. */
static enum flop_precision main_precision(const struct tally *tally)
{
	double sums[FLOP_PRECISIONS] = {0};
	if (!tally->flop)
		return PRECISION_DOUBLE;
	for (int k = 0; k < FLOP_KINDS; k++)
		for (int p = 0; p < FLOP_PRECISIONS; p++)
			for (int w = 0; w < FLOP_WIDTHS; w++)
				sums[p] += (double)tally->flop_by_kind[k][p][w];
	enum flop_precision best = PRECISION_DOUBLE;
	for (int p = 0; p < FLOP_PRECISIONS; p++)
		if (sums[p] > sums[best])
			best = (enum flop_precision)p;
	return best;
}

static void derive(const struct model *model, struct model_function *function)
{
	const struct tally *tally = &function->tally;
	double bytes = (double)tally->load_bytes + (double)tally->store_bytes;
	function->precision = main_precision(tally);
	function->intensity = tally->flop == 0 ? 0
			      : bytes == 0     ? INFINITY
					       : (double)tally->flop / bytes;
	function->share = model->time_ns ? (double)function->time_ns / (double)model->time_ns : 0;
}

/* Keeps the rows that did something, names and places them. */
static bool finish_rows(struct model_rows *rows, struct model *model)
{
	for (size_t row = 0; row < rows->n_rows; row++) {
		struct model_function *function = &rows->rows[row];
		if (!model_is_used(rows, row) ||
		    (function->time_ns == 0 && function->tally.instructions == 0))
			continue;
		if (!name_row(rows, row))
			return false;
		derive(model, function);
		if (function->traffic)
			model_trace_rates(rows->profile, &rows->choice, function);
		model_place(rows->profile, &rows->choice, function, model->counted);
	}
	return true;
}

static void compact(struct model_rows *rows, struct model *model)
{
	size_t kept = 0;
	for (size_t row = 0; row < rows->n_rows; row++) {
		if (!model_is_used(rows, row))
			continue;
		if (!rows->rows[row].name)
			function_deinit(&rows->rows[row]);
		else if (kept++ != row)
			rows->rows[kept - 1] = rows->rows[row];
	}
	model->functions = rows->rows;
	model->n_functions = kept;
	rows->rows = NULL;
}

static void free_lists(struct model *model)
{
	free(model->process_of_thread);
	free(model->twin_of_thread);
	free(model->uncounted_samples);
	free(model->loop_code);
	free(model->processes);
	free(model->uncounted);
	free(model->quantities);
}

/* Profiles without processes have nothing that tells threads of the two runs apart but the order of
 * birth. */
static void pair_threads(const struct profile *profile, uint32_t *twins)
{
	uint32_t next[2] = {0, 0}; /* RUN_TIMED, RUN_COUNTED */
	for (;;) {
		for (int run = 0; run < 2; run++)
			while (next[run] < profile->n_threads &&
			       profile->threads[next[run]].run != (run ? RUN_COUNTED : RUN_TIMED))
				next[run]++;
		if (next[0] >= profile->n_threads || next[1] >= profile->n_threads)
			return;
		twins[next[0]] = next[1];
		twins[next[1]++] = next[0];
		next[0]++;
	}
}

struct rf_error *model_build(const struct profile *profile, struct model *out)
{
	return model_build_as(profile, &(struct model_choice){0}, out);
}

/* All but names and places. */
static bool fill_rows(struct model_rows *rows, struct model_threads *threads, struct model *model)
{
	return model_count(rows, model) && model_counters(rows, model) &&
	       model_memory(rows, model) && model_threads_init(threads, rows) &&
	       model_processes(threads, model) && model_time(rows, threads, model);
}

static bool has_counts(const struct profile *profile)
{
	const char *source = profile_get_fact(profile, "work_source");
	return profile->n_counts > 0 || profile->n_sum_threads > 0 ||
	       (source && strcmp(source, "none") != 0);
}

static struct rf_error *no_memory(void)
{
	return rf_error_errno(RF_EINTERNAL, ENOMEM, NULL, "cannot build the report");
}

static void free_rows(struct model_rows *rows)
{
	for (size_t row = 0; rows->rows && rows->has_part && row < rows->n_rows; row++)
		if (model_is_used(rows, row))
			function_deinit(&rows->rows[row]);
	free(rows->rows);
	free(rows->has_part);
	free(rows->order);
}

struct rf_error *model_summarise(struct profile *profile)
{
	struct model_rows rows;
	struct model model = {.counted = has_counts(profile)};
	struct model_threads threads = {0};
	const bool done = rows_init(&rows, profile, &(struct model_choice){0}) &&
			  fill_rows(&rows, &threads, &model) &&
			  model_store_sums(&rows, &model, profile);
	model_threads_deinit(&threads);
	free_lists(&model);
	free_rows(&rows);
	return done ? NULL : no_memory();
}

struct rf_error *model_build_as(const struct profile *profile, const struct model_choice *choice,
				struct model *out)
{
	struct model_rows rows;
	struct model model = {.counted = has_counts(profile)};
	struct model_threads threads = {0};
	if (profile->roof_index &&
	    !roof_index_refresh(profile->roof_index, profile->roofs, profile->n_roofs))
		return no_memory();
	bool done = rows_init(&rows, profile, choice) && fill_rows(&rows, &threads, &model) &&
		    (!choice->loops || model_find_loops(&rows, &threads, &model)) &&
		    finish_rows(&rows, &model);
	model.process_of_thread = threads.process_of;
	model.twin_of_thread = threads.twin_thread;
	threads.process_of = threads.twin_thread = NULL;
	if (done && profile->n_processes == 0)
		pair_threads(profile, model.twin_of_thread);
	model_threads_deinit(&threads);
	if (done) {
		compact(&rows, &model);
		*out = model;
	} else {
		free_lists(&model);
	}
	free_rows(&rows);
	return done ? NULL : no_memory();
}

void model_deinit(struct model *model)
{
	for (size_t i = 0; i < model->n_functions; i++)
		function_deinit(&model->functions[i]);
	free(model->functions);
	free_lists(model);
	*model = (struct model){0};
}

static const char *const kind_names[FLOP_KINDS] = {"add", "mul", "fma", "div", "sqrt", "other"};
static const char *const precision_names[FLOP_PRECISIONS] = {"half", "bfloat16", "single", "double",
							     "x87"};
static const char *const width_names[FLOP_WIDTHS] = {"scalar", "128", "256", "512", "tile"};

void model_kind_name(int kind, int precision, int width, char *buffer, size_t size)
{
	snprintf(buffer, size, "%s_%s_%s", kind_names[kind], precision_names[precision],
		 width_names[width]);
}

const char *model_precision_name(enum flop_precision precision)
{
	return precision_names[precision];
}
