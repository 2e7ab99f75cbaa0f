/* Where the calls of a profile's code lead: direct ones by their displacement, others by the stacks
 * of samples. */
#pragma once

#include "report/in_core/function_code.h"

/* A call instruction that was executed. */
struct call_site {
	uint32_t module;
	uint64_t offset, end; /* of the instruction; behind it */
	int64_t n;            /* executions */
	bool direct;
	uint64_t target; /* offset in the module, of a direct call */
	/* Row in profile->functions that nearly all samples below the call lie in, or in what that
	 * calls; of a direct call of those that have left the function that it names (a stub that
	 * jumps to a library).  PROFILE_NONE: there is none, or no sample. */
	uint32_t seen;
};

struct call_targets {
	struct call_site *sites; /* by (module, offset) */
	size_t n_sites, cap_sites;
};

/* Indexes the functions of the profile.  `code`: of the same profile.  Fails only when memory is
 * short; deinit in any case. */
struct rf_error *call_targets_init(const struct function_code *code, struct call_targets *targets);
void call_targets_deinit(struct call_targets *targets);

/* The call at that place, or NULL: there is none. */
const struct call_site *call_site_at(const struct call_targets *targets, uint32_t module,
				     uint64_t offset);
/* Row of the function whose first instruction is at the place, or PROFILE_NONE. */
uint32_t call_function_at(const struct profile *profile, uint32_t module, uint64_t offset);
/* Row of the function that a site calls, as far as is known: of a direct call the one that begins
 * there, else `seen`. */
uint32_t call_callee(const struct profile *profile, const struct call_site *site);
/* Whether it is known to lead to that row, itself or by way of a stub. */
bool call_reaches(const struct profile *profile, const struct call_site *site, uint32_t row);
