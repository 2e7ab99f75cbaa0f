/* What walks through the page tables cost, from what a simulated TLB made of all accesses
 * (docs/traffic.md, "The TLB"). */
#pragma once

#include "report/model/model.h"

/* Whether a TLB was simulated. */
bool page_walks_known(const struct profile *profile);

/* Of several instructions; each page that an access lies in counts as one. */
struct page_walks {
	double accesses, near_misses, walks;
};

/* Those of a function of the program, or of a module's code that is in none that is known. */
struct code_walks {
	uint32_t function, module; /* function: row in profile->functions, or PROFILE_NONE */
	struct page_walks sum;
};

/* Of the whole program. */
struct page_walks page_walks_of_all(const struct profile *profile);
/* All code with such accesses, that with most walks first.  `out` gets n_out of them for the caller
 * to free.  Fails only when memory is short. */
struct rf_error *page_walks_by_code(const struct profile *profile, struct code_walks **out,
				    size_t *n_out);

/* Those of a function's own code: sums[i] of what is in loop i and in none within it, sums[n_loops]
 * of what is in no loop; all are zero before.  Rows that are no functions have none. */
void page_walks_by_loop(const struct profile *profile, const struct model_function *f,
			struct page_walks *sums);

/* Seconds of processor time that so many walks take, by loads that wait for each other or that do
 * not; 0: it was not measured. */
double page_walks_seconds(const struct profile *profile, double walks, bool chained);
