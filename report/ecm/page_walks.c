/* Sums over instructions. */
#include "report/ecm/page_walks.h"

#include "base/search.h"
#include "profile/function_index.h"
#include "report/model/model_loops.h"

#include <stdlib.h>

bool page_walks_known(const struct profile *profile)
{
	return profile_get_fact(profile, "tlb") != NULL;
}

/* The rows of a function's code. */
static const struct profile_page_walk *rows_of(const struct profile *profile,
					       const struct model_function *f, size_t *n)
{
	const struct profile_page_walk *rows = profile->page_walks;
	*n = 0;
	if (f->function == PROFILE_NONE || !profile->n_page_walks)
		return NULL;
	const struct profile_function *code = &profile->functions[f->function];
	const size_t from =
		rf_search(profile->n_page_walks, i,
			  rows[i].module < code->module ||
				  (rows[i].module == code->module && rows[i].offset < code->start));
	const size_t to =
		rf_search(profile->n_page_walks, i,
			  rows[i].module < code->module ||
				  (rows[i].module == code->module && rows[i].offset < code->end));
	*n = to > from ? to - from : 0;
	return rows + from;
}

static void add(struct page_walks *sum, const struct profile_page_walk *row)
{
	sum->accesses += (double)row->accesses;
	sum->near_misses += (double)row->near_misses;
	sum->walks += (double)row->walks;
}

void page_walks_by_loop(const struct profile *profile, const struct model_function *f,
			struct page_walks *sums)
{
	size_t n;
	const struct profile_page_walk *rows = rows_of(profile, f, &n);
	for (size_t i = 0; i < n; i++)
		add(&sums[model_loops_at(f, rows[i].offset)], &rows[i]);
}

struct page_walks page_walks_of_all(const struct profile *profile)
{
	struct page_walks all = {0};
	for (size_t i = 0; i < profile->n_page_walks; i++)
		add(&all, &profile->page_walks[i]);
	return all;
}

static int most_first(const void *a, const void *b)
{
	const struct code_walks *x = a, *y = b;
	return rf_compare(y->sum.walks, x->sum.walks)
	       ?: rf_compare(y->sum.accesses, x->sum.accesses)
	       ?: rf_compare(x->function, y->function) ?: rf_compare(x->module, y->module);
}

struct rf_error *page_walks_by_code(const struct profile *profile, struct code_walks **out,
				    size_t *n_out)
{
	const size_t places = profile->n_functions + profile->n_modules;
	struct code_walks *sums = calloc(places + 1, sizeof(*sums));
	size_t n = 0;
	if (!sums)
		return rf_error_no_memory();
	for (size_t i = 0; i < profile->n_page_walks; i++) {
		const struct profile_page_walk *row = &profile->page_walks[i];
		const uint32_t function =
			profile_function_at(profile, row->module, row->offset, NULL);
		const size_t at =
			function == PROFILE_NONE ? profile->n_functions + row->module : function;
		sums[at].function = function;
		sums[at].module = row->module;
		add(&sums[at].sum, row);
	}
	for (size_t i = 0; i < places; i++)
		if (sums[i].sum.accesses > 0)
			sums[n++] = sums[i];
	qsort(sums, n, sizeof(*sums), most_first);
	*out = sums;
	*n_out = n;
	return NULL;
}

double page_walks_seconds(const struct profile *profile, double walks, bool chained)
{
	const char *fact = chained ? "page_walk_ns" : "page_walk_apart_ns";
	return 1e-9 * walks * profile_number_fact(profile, fact, 0);
}
