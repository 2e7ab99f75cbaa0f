/* Of the page about a function: its own code, and the functions that were inlined in it. */
#include "report/text/function_inlined.h"

#include "base/text.h"
#include "report/model/model.h"
#include "report/rows/code_names.h"
#include "report/rows/grouping.h"
#include "report/rows/view.h"
#include "report/text/cells.h"
#include "report/text/table.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_INLINED 16

static int by_time(const void *a, const void *b, void *context)
{
	const struct model *model = context;
	const struct model_function *x = &model->functions[*(const size_t *)a],
				    *y = &model->functions[*(const size_t *)b];
	if (x->time_ns != y->time_ns)
		return x->time_ns > y->time_ns ? -1 : 1;
	if (x->tally.instructions != y->tally.instructions)
		return x->tally.instructions > y->tally.instructions ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* Where the function of that name is called in this one: the first place, and "…" for more. */
static void put_calls(const struct page *page, const char *name, char *text, size_t size)
{
	const struct profile *profile = page->view->profile;
	const struct profile_function *function = &profile->functions[page->f->function];
	uint32_t first = PROFILE_NONE, last = PROFILE_NONE;
	size_t n = 0;
	for (size_t i = report_inlined_from(profile, function->module, function->start);
	     i < profile->n_inlined_code; i++) {
		const struct profile_inlined_code *code = &profile->inlined_code[i];
		if (code->module != function->module || code->start >= function->end)
			break;
		if (code->call == last ||
		    strcmp(report_inlined_name(profile, code->call), name) != 0)
			continue;
		last = code->call;
		n += first != last;
		first = first == PROFILE_NONE ? last : first;
	}
	*text = '\0';
	if (first == PROFILE_NONE || !profile->inlined_calls[first].file[0])
		return;
	const struct profile_inlined_call *call = &profile->inlined_calls[first];
	snprintf(text, size, "%.100s:%" PRIu32 "%s", report_base_name(call->file), call->line,
		 n > 1 ? ", …" : "");
}

static void put_row(struct page *page, struct text_table *table, const struct model_function *part)
{
	const struct model_function *f = page->f;
	const bool own = part->function == f->function;
	const double bytes = (double)part->tally.load_bytes + (double)part->tally.store_bytes;
	const double all = (double)f->tally.load_bytes + (double)f->tally.store_bytes;
	char cell[192];
	text_table_row(table);
	report_put_time(cell, (double)part->time_ns * 1e-9, (double)f->time_ns * 1e-9);
	text_table_put(table, 0, STYLE_PLAIN, "%s", cell);
	text_table_put(table, 1, STYLE_PLAIN, "%.0f %%",
		       page_percent((double)part->time_ns, (double)f->time_ns));
	if (f->tally.flop)
		text_table_put(table, 2, STYLE_PLAIN, "%.0f %%",
			       page_percent((double)part->tally.flop, (double)f->tally.flop));
	text_table_put(table, 3, STYLE_PLAIN, "%.0f %%", page_percent(bytes, all));
	report_put_bytes(cell,
			 part->traffic ? part->traffic->bytes.mem[DIRECTION_BOTH].bytes : NAN);
	text_table_put(table, 4, STYLE_PLAIN, "%s", cell);
	text_table_put_name(table, 5, own ? "(its own code)" : part->name);
	if (own)
		return;
	put_calls(page, part->name, cell, sizeof(cell));
	text_table_put_name(table, 6, cell);
}

static void put_parts(struct page *page, const struct model *parts)
{
	static const struct text_column columns[] = {{"time", true},      {"share", true},
						     {"flop", true},      {"bytes", true},
						     {"memory", true},    {"function", false},
						     {"called at", false}};
	static const size_t order[] = {6, 4, 0};
	size_t *ranked = malloc((parts->n_functions + 1) * sizeof(*ranked)), n = 0;
	struct text_table table;
	if (!ranked)
		page_fail(page, rf_error_no_memory());
	for (size_t i = 0; ranked && i < parts->n_functions; i++)
		if (!parts->functions[i].left_out &&
		    parts->functions[i].uncounted_part == page->f->uncounted_part)
			ranked[n++] = i;
	if (ranked && n) {
		page_title(page, "inlined in it");
		qsort_r(ranked, n, sizeof(*ranked), by_time, (void *)parts);
		text_table_init(&table, page->view->terminal, columns, 7, 5);
		for (size_t i = 0; i < n && i < MAX_INLINED; i++)
			put_row(page, &table, &parts->functions[ranked[i]]);
		page_table(page, &table, order, 3);
		if (n > MAX_INLINED)
			page_line(page, STYLE_DIM, "  · ", "and %zu more with less time",
				  n - MAX_INLINED);
	}
	free(ranked);
}

static bool has_inlined(const struct page *page)
{
	const struct profile *profile = page->view->profile;
	if (page->f->function == PROFILE_NONE)
		return false;
	const struct profile_function *function = &profile->functions[page->f->function];
	const size_t i = report_inlined_from(profile, function->module, function->start);
	return i < profile->n_inlined_code && profile->inlined_code[i].module == function->module &&
	       profile->inlined_code[i].start < function->end;
}

void page_inlined(struct page *page)
{
	struct model_groups groups;
	struct model parts;
	if (!has_inlined(page))
		return;
	struct rf_error *error = grouping_of_function(page->view, page->f->function, &groups);
	if (!error) {
		const struct model_choice choice = {.groups = &groups};
		error = model_build_as(page->view->profile, &choice, &parts);
		if (!error) {
			put_parts(page, &parts);
			model_deinit(&parts);
		}
		grouping_destroy(&groups);
	}
	page_fail(page, error);
}
