/* Accesses, misses and walks of the simulated TLB, as JSON. */
#include "report/json/json_tlb.h"

#include "report/ecm/page_walks.h"

#include <stdlib.h>

static void put_walks(struct json_writer *out, const struct page_walks *walks)
{
	put_real(out, "page_accesses", walks->accesses);
	put_real(out, "tlb_near_misses", walks->near_misses);
	put_real(out, "page_walks", walks->walks);
}

static void put_functions(struct json_writer *out, const struct profile *profile,
			  const struct code_walks *items, size_t n)
{
	put_array(out, "functions");
	for (size_t i = 0; i < n; i++) {
		const bool known = items[i].function != PROFILE_NONE;
		put_object(out, NULL);
		put_text(out, "name", known ? profile->functions[items[i].function].name : NULL);
		put_text(out, "module", profile->modules[items[i].module].name);
		put_walks(out, &items[i].sum);
		put_end(out);
	}
	put_end(out);
}

struct rf_error *report_json_tlb(struct json_writer *out, const char *key,
				 const struct report_view *view)
{
	const struct profile *profile = view->profile;
	struct code_walks *items = NULL;
	size_t n = 0;
	if (!page_walks_known(profile)) {
		put_null(out, key);
		return NULL;
	}
	struct rf_error *error = page_walks_by_code(profile, &items, &n);
	if (error)
		return error;
	const struct page_walks all = page_walks_of_all(profile);
	put_object(out, key);
	put_text(out, "simulated", profile_get_fact(profile, "tlb"));
	put_walks(out, &all);
	put_functions(out, profile, items, n);
	put_end(out);
	free(items);
	return NULL;
}
