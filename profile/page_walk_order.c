/* Places of instructions in their order. */
#include "profile/page_walk_order.h"

#include "base/search.h"

#include <stdlib.h>

int page_walk_compare(const void *a, const void *b)
{
	const struct profile_page_walk *x = a, *y = b;
	return rf_compare(x->module, y->module) ?: rf_compare(x->offset, y->offset)
	       ?: rf_compare(x->kernel, y->kernel);
}

void page_walk_order(struct profile *profile)
{
	if (profile->n_page_walks)
		qsort(profile->page_walks, profile->n_page_walks, sizeof(*profile->page_walks),
		      page_walk_compare);
}
