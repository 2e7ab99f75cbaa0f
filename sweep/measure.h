/* One repeat of a point: rfprof runs the program once more, in a process of its own. */
#pragma once

#include "profile/profile.h"
#include "sweep/one_run.h"

/* How each repeat is measured. */
struct measure_options {
	const char *kernels;                 /* of --kernel */
	const char *cache;                   /* of --cache, or NULL */
	const char *cache_sample, *slowdown; /* the same */
	const char *caches;                  /* the same */
	/* Of the traced repeats: of --tlb-pages, "" for --tlb, and of --other-caches; or NULL. */
	const char *tlb_pages, *other_caches;
};

/* Runs `rfprof` with these options for a command, whose standard output goes nowhere; `traced`:
 * with its memory traffic; `limit_s` as for one_run.  *out: the profile, to be destroyed; NULL
 * where the program failed or was ended, *end says how. */
struct rf_error *measure(const struct measure_options *options, char *const *command, bool traced,
			 double limit_s, struct one_run_end *end, struct profile **out);
