/* Of the page about a function: what it falls into: functions that were inlined in it, data that it
 * moves, threads that run it, callers. */
#include "report/text/function_shares.h"

#include "base/array.h"
#include "base/search.h"
#include "base/text.h"
#include "profile/function_index.h"
#include "report/reasons/words.h"
#include "report/rows/code_names.h"
#include "report/rows/grouping.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_INLINED 16
#define MAX_OBJECTS 5
#define MAX_SHARED 5
#define MAX_THREADS 16
#define MAX_CALLERS 6

/* ---- functions inlined in it ---- */

static int by_length(const void *a, const void *b, void *context)
{
	const struct model *model = context;
	const struct model_function *x = &model->functions[*(const size_t *)a],
				    *y = &model->functions[*(const size_t *)b];
	return rf_compare(y->time_ns, x->time_ns)
		?: rf_compare(y->tally.instructions, x->tally.instructions) ?: rf_compare(x, y);
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

static void put_inlined(struct page *page, struct text_table *table,
			const struct model_function *part)
{
	const struct model_function *f = page->f;
	const bool own = part->function == f->function;
	const double bytes = (double)part->tally.load_bytes + (double)part->tally.store_bytes;
	const double all = (double)f->tally.load_bytes + (double)f->tally.store_bytes;
	char cell[192];
	page_row(page, table, part->time_ns, f->time_ns);
	if (f->tally.flop)
		text_table_put(table, 2, STYLE_PLAIN, "%.0f %%",
			       page_percent((double)part->tally.flop, (double)f->tally.flop));
	text_table_put(table, 3, STYLE_PLAIN, "%.0f %%", page_percent(bytes, all));
	text_table_text(table, 4,
			report_put_bytes(
				cell, part->traffic ? part->traffic->bytes.mem[DIRECTION_BOTH].bytes
						    : NAN));
	text_table_text(table, 5, own ? "(its own code)" : part->name);
	if (own)
		return;
	put_calls(page, part->name, cell, sizeof(cell));
	text_table_text(table, 6, cell);
}

static void put_all_inlined(struct page *page, const struct model *parts)
{
	static const struct text_column columns[] = {{"time", true, 3},      {"share", true},
						     {"flop", true},         {"bytes", true},
						     {"memory", true, 2},    {"function", false},
						     {"called at", false, 1}};
	size_t *ranked = malloc((parts->n_functions + 1) * sizeof(*ranked)), n = 0;
	struct text_table table = page_table(page, columns, 5);
	if (!ranked)
		page_fail(page, rf_error_no_memory());
	for (size_t i = 0; ranked && i < parts->n_functions; i++)
		if (!parts->functions[i].left_out &&
		    parts->functions[i].uncounted_part == page->f->uncounted_part)
			ranked[n++] = i;
	if (ranked && n) {
		page_title(page, "inlined in it");
		qsort_r(ranked, n, sizeof(*ranked), by_length, (void *)parts);
		for (size_t i = 0; i < n && i < MAX_INLINED; i++)
			put_inlined(page, &table, &parts->functions[ranked[i]]);
		page_fail(page, text_table_end(&table, page->stream));
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
			put_all_inlined(page, &parts);
			model_deinit(&parts);
		}
		grouping_destroy(&groups);
	}
	page_fail(page, error);
}

/* ---- data ---- */

void page_objects(struct page *page)
{
	const struct model_traffic *traffic = page->f->traffic;
	double all = 0;
	char words[320], bytes[64];
	if (!traffic || !traffic->n_objects)
		return;
	page_title(page, "data that it moves to and from memory");
	for (size_t i = 0; i < traffic->n_objects; i++)
		all += traffic->objects[i].read + traffic->objects[i].write;
	for (size_t i = 0; i < traffic->n_objects && i < MAX_OBJECTS; i++) {
		const struct profile_sum_object *part = &traffic->objects[i];
		report_object_words(page->view->profile,
				    &page->view->profile->objects[part->object], words,
				    sizeof(words));
		page_line(page, STYLE_PLAIN, "  ", "%.0f %% (%s): %s",
			  page_percent(part->read + part->write, all),
			  report_put_bytes(bytes, part->read + part->write), words);
	}
}

/* ---- lines that threads share ---- */

static bool touches(const struct page *page, uint32_t line)
{
	uint32_t sides[2];
	return page->f->function != PROFILE_NONE &&
	       sharing_sides(page->view->profile, line, page->f, sides);
}

void page_sharing(struct page *page)
{
	const struct profile *profile = page->view->profile;
	size_t n = 0;
	for (uint32_t i = 0; i < profile->n_shared_lines && n < MAX_SHARED; i++) {
		const struct profile_shared_line *line = &profile->shared_lines[i];
		char words[1200];
		if (!touches(page, i))
			continue;
		if (!n++)
			page_title(page, "lines that its threads share with others");
		sharing_line_words(profile, i, page->f, words, sizeof(words));
		page_line(page, STYLE_PLAIN, "  ", "%s sharing of %s",
			  line->kind == SHARING_TRUE ? "true" : "false", words);
		page_line(page, STYLE_PLAIN, "    ",
			  "%s accesses of all threads, moves between them: %s at most, %llu seen",
			  REPORT_NUMBER((double)line->accesses),
			  REPORT_NUMBER((double)line->transfers_at_most),
			  (unsigned long long)line->transfers_seen);
	}
}

/* ---- threads and callers ---- */

/* Its time and work by thread, or by caller. */
struct part {
	uint32_t key;
	uint64_t time_ns, flop;
};
struct parts {
	struct part *all;
	size_t n, cap;
};

/* False: no memory. */
static bool add_part(struct parts *parts, uint32_t key, uint64_t time_ns, uint64_t flop)
{
	struct part fresh = {key, time_ns, flop};
	for (size_t i = 0; i < parts->n; i++)
		if (parts->all[i].key == key) {
			parts->all[i].time_ns += time_ns;
			parts->all[i].flop += flop;
			return true;
		}
	return rf_array_push(parts->all, parts->n, parts->cap, fresh);
}

static int longest_first(const void *a, const void *b)
{
	const struct part *x = a, *y = b;
	return rf_compare(y->time_ns, x->time_ns) ?: rf_compare(x->key, y->key);
}

/* Time of its samples by thread, and by the function that has called it. */
static struct rf_error *split_time(const struct page *page, struct parts *threads,
				   struct parts *callers)
{
	const struct profile *profile = page->view->profile;
	const uint32_t own = (uint32_t)page->f->row;
	uint32_t *rows = profile_places_of_frames(profile);
	bool done = rows;
	for (size_t i = 0; done && i < profile->n_samples; i++) {
		const struct profile_sample *sample = &profile->samples[i];
		uint32_t frame = sample->frame;
		if (frame == PROFILE_NONE || rows[frame] != own ||
		    page->view->model->uncounted_samples[i] !=
			    (page->f->place.bound == BOUND_UNCOUNTED))
			continue;
		while (frame != PROFILE_NONE && rows[frame] == own)
			frame = profile->frames[frame].parent;
		const uint64_t weight = page->view->model->sample_ns[i];
		done = add_part(threads, sample->thread, weight, 0) &&
		       add_part(callers, frame == PROFILE_NONE ? frame : rows[frame], weight, 0);
	}
	free(rows);
	for (size_t i = 0; done && i < page->f->n_threads; i++) {
		const struct profile_sum_thread *counted = &page->f->threads[i];
		const uint32_t twin = page->view->model->twin_of_thread[counted->thread];
		done = add_part(threads, twin == PROFILE_NONE ? counted->thread : twin, 0,
				counted->flop);
	}
	if (threads->n)
		qsort(threads->all, threads->n, sizeof(*threads->all), longest_first);
	if (callers->n)
		qsort(callers->all, callers->n, sizeof(*callers->all), longest_first);
	return done ? NULL : rf_error_no_memory();
}

static void put_threads(struct page *page, const struct part *threads, size_t n)
{
	static const struct text_column columns[] = {
		{"time", true}, {"share", true}, {"Gflop", true}, {"thread", false}};
	const struct profile *profile = page->view->profile;
	const double all = (double)page->f->time_ns;
	struct text_table table = page_table(page, columns, 3);
	char cell[TEXT_NUMBER];
	if (n < 2)
		return;
	page_title(page, "threads");
	for (size_t i = 0; i < n && i < MAX_THREADS; i++) {
		const struct profile_thread *thread = &profile->threads[threads[i].key];
		page_row(page, &table, threads[i].time_ns, threads[0].time_ns);
		text_table_text(&table, 2, text_number(cell, (double)threads[i].flop * 1e-9));
		text_table_put(&table, 3, STYLE_PLAIN, "%s (%d)", thread->name, thread->tid);
	}
	page_fail(page, text_table_end(&table, page->stream));
	page_line(page, STYLE_DIM, "  · ", "%zu thread%s in it; the longest takes %.2f× the mean%s",
		  n, n > 1 ? "s" : "", all > 0 ? (double)threads[0].time_ns * (double)n / all : 1,
		  all > 0 && (double)threads[0].time_ns * (double)n > 1.25 * all
			  ? ": share the work more evenly"
			  : "");
}

static void put_callers(struct page *page, const struct part *callers, size_t n)
{
	const double all = (double)page->f->time_ns;
	if (!n)
		return;
	page_title(page, "callers");
	for (size_t i = 0; i < n && i < MAX_CALLERS; i++)
		page_line(page, STYLE_PLAIN, "  ", "%.0f %% %s",
			  page_percent((double)callers[i].time_ns, all),
			  callers[i].key == PROFILE_NONE
				  ? "(not known: the stack could not be followed)"
				  : report_row_name(page->view->profile, callers[i].key));
	if (n > MAX_CALLERS)
		page_line(page, STYLE_DIM, "  · ", "and %zu more", n - MAX_CALLERS);
}

void page_people(struct page *page)
{
	struct parts threads = {0}, callers = {0};
	page_fail(page, split_time(page, &threads, &callers));
	put_threads(page, threads.all, threads.n);
	put_callers(page, callers.all, callers.n);
	free(threads.all);
	free(callers.all);
}
