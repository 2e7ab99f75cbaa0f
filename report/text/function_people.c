/* Of the page about a function: whose data it moves, which threads run it, who calls it. */
#include "report/text/function_people.h"

#include "base/array.h"
#include "base/text.h"
#include "profile/function_index.h"
#include "report/model/model_samples.h"
#include "report/reasons/words.h"
#include "report/rows/code_names.h"
#include "report/rows/view.h"
#include "report/text/cells.h"
#include "report/text/table.h"

#include <math.h>
#include <stdlib.h>

#define MAX_OBJECTS 5
#define MAX_THREADS 16
#define MAX_CALLERS 6

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
		const struct model_object *part = &traffic->objects[i];
		report_object_words(page->view->profile,
				    &page->view->profile->objects[part->object], words,
				    sizeof(words));
		report_put_bytes(bytes, part->read + part->write);
		page_line(page, STYLE_PLAIN, "  ", "%.0f %% (%s): %s",
			  page_percent(part->read + part->write, all), bytes, words);
	}
}

struct part {
	uint32_t key;
	uint64_t time_ns, flop;
};

static struct part *part_of(struct part **parts, size_t *n, size_t *cap, uint32_t key)
{
	for (size_t i = 0; i < *n; i++)
		if ((*parts)[i].key == key)
			return &(*parts)[i];
	const struct part fresh = {.key = key};
	return rf_array_push(*parts, *n, *cap, fresh) ? &(*parts)[*n - 1] : NULL;
}

static int longest_first(const void *a, const void *b)
{
	const struct part *x = a, *y = b;
	return x->time_ns != y->time_ns ? (x->time_ns > y->time_ns ? -1 : 1)
					: (x->key > y->key) - (x->key < y->key);
}

/* Time of its samples by thread, and by the function that has called it. */
static struct rf_error *split_time(const struct page *page, struct part **threads,
				   size_t *n_threads, struct part **callers, size_t *n_callers)
{
	const struct profile *profile = page->view->profile;
	const uint64_t cost = model_sample_cost(profile);
	const uint32_t own = (uint32_t)page->f->row;
	size_t cap_threads = 0, cap_callers = 0;
	uint32_t *rows = profile_places_of_frames(profile);
	struct rf_error *error = rows ? NULL : rf_error_no_memory();
	for (size_t i = 0; !error && i < profile->n_samples; i++) {
		const struct profile_sample *sample = &profile->samples[i];
		uint32_t frame = sample->frame;
		if (frame == PROFILE_NONE || rows[frame] != own ||
		    page->view->model->uncounted_samples[i] !=
			    (page->f->place.bound == BOUND_UNCOUNTED))
			continue;
		while (frame != PROFILE_NONE && rows[frame] == own)
			frame = profile->frames[frame].parent;
		struct part *thread = part_of(threads, n_threads, &cap_threads, sample->thread);
		struct part *caller = part_of(callers, n_callers, &cap_callers,
					      frame == PROFILE_NONE ? frame : rows[frame]);
		if (!thread || !caller) {
			error = rf_error_no_memory();
			break;
		}
		thread->time_ns += model_sample_weight(sample, cost);
		caller->time_ns += model_sample_weight(sample, cost);
	}
	free(rows);
	for (size_t i = 0; !error && i < page->f->n_threads; i++) {
		const struct model_thread *counted = &page->f->threads[i];
		const uint32_t twin = page->view->model->twin_of_thread[counted->thread];
		struct part *thread = part_of(threads, n_threads, &cap_threads,
					      twin == PROFILE_NONE ? counted->thread : twin);
		if (thread)
			thread->flop += counted->flop;
		else
			error = rf_error_no_memory();
	}
	return error;
}

static void put_threads(struct page *page, struct part *threads, size_t n)
{
	static const struct text_column columns[] = {
		{"time", true}, {"share", true}, {"Gflop", true}, {"thread", false}};
	const struct profile *profile = page->view->profile;
	const double all = (double)page->f->time_ns;
	struct text_table table;
	char cell[64], number[TEXT_NUMBER];
	if (n)
		qsort(threads, n, sizeof(*threads), longest_first);
	if (n < 2)
		return;
	page_title(page, "threads");
	text_table_init(&table, page->view->terminal, columns, 4, 3);
	for (size_t i = 0; i < n && i < MAX_THREADS; i++) {
		const struct profile_thread *thread = &profile->threads[threads[i].key];
		char *name = text_clean(thread->name);
		text_table_row(&table);
		report_put_time(cell, (double)threads[i].time_ns * 1e-9,
				(double)threads[0].time_ns * 1e-9);
		text_table_put(&table, 0, STYLE_PLAIN, "%s", cell);
		text_table_put(&table, 1, STYLE_PLAIN, "%.0f %%",
			       page_percent((double)threads[i].time_ns, all));
		text_table_put(&table, 2, STYLE_PLAIN, "%s",
			       text_number(number, (double)threads[i].flop * 1e-9));
		text_table_put(&table, 3, STYLE_PLAIN, "%s (%d)", name ? name : "", thread->tid);
		free(name);
	}
	page_table(page, &table, NULL, 0);
	page_line(page, STYLE_DIM, "  · ", "%zu thread%s in it; the longest takes %.2f× the mean%s",
		  n, n > 1 ? "s" : "", all > 0 ? (double)threads[0].time_ns * (double)n / all : 1,
		  all > 0 && (double)threads[0].time_ns * (double)n > 1.25 * all
			  ? ": share the work more evenly"
			  : "");
}

static void put_callers(struct page *page, struct part *callers, size_t n)
{
	const double all = (double)page->f->time_ns;
	if (!n)
		return;
	qsort(callers, n, sizeof(*callers), longest_first);
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
	struct part *threads = NULL, *callers = NULL;
	size_t n_threads = 0, n_callers = 0;
	page_fail(page, split_time(page, &threads, &n_threads, &callers, &n_callers));
	put_threads(page, threads, n_threads);
	put_callers(page, callers, n_callers);
	free(threads);
	free(callers);
}
