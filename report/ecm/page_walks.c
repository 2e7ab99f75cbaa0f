/* Sums over instructions. */
#include "report/ecm/page_walks.h"

#include "base/search.h"
#include "report/model/model_loops.h"

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

double page_walks_seconds(const struct profile *profile, double walks, bool chained)
{
	const char *fact = chained ? "page_walk_ns" : "page_walk_apart_ns";
	return 1e-9 * walks * profile_number_fact(profile, fact, 0);
}
