/* Sums over branches. */
#include "report/ecm/mispredictions.h"

#include "base/search.h"
#include "report/model/model_loops.h"
#include "report/model/model_place.h"

#include <math.h>
#include <stdlib.h>

/* How often a branch was mispredicted, of all its executions. */
static double times_of(const struct profile_branch *branch)
{
	return (double)branch->executions * fmin(1, branch->share);
}

static double cycles_fact(const struct profile *profile, const char *key)
{
	const double cycles = profile_number_fact(profile, key, NAN);
	return cycles > 0 ? cycles : NAN;
}

bool mispredictions_known(const struct profile *profile)
{
	return profile_get_fact(profile, "branch_outcomes") &&
	       !isnan(cycles_fact(profile, "mispredicted_cycles")) &&
	       !isnan(model_clock_ghz(profile));
}

/* What one costs rises from where every second one is mispredicted to where few are, as the square
 * of how far the share is from a half: so loops with random branches do (docs/branches.md). */
static double cycles_of_one(const struct profile *profile, double share)
{
	const double often = cycles_fact(profile, "mispredicted_cycles");
	const double rarely = profile_number_fact(profile, "mispredicted_rarely_cycles", often);
	const double apart = 1 - 2 * fmin(0.5, share);
	return often + fmax(0, rarely - often) * apart * apart;
}

double mispredictions_seconds(const struct profile *profile, const struct profile_branch *branch)
{
	if (!mispredictions_known(profile))
		return NAN;
	return times_of(branch) * cycles_of_one(profile, branch->share) * 1e-9 /
	       model_clock_ghz(profile);
}

/* The branches of a module from `start` to `end` (exclusive). */
static const struct profile_branch *branches_in(const struct profile *profile, uint32_t module,
						uint64_t start, uint64_t end, size_t *n)
{
	const struct profile_branch *rows = profile->branches;
	const size_t from = rf_search(profile->n_branches, i,
				      rows[i].module < module ||
					      (rows[i].module == module && rows[i].offset < start));
	const size_t to = rf_search(profile->n_branches, i,
				    rows[i].module < module ||
					    (rows[i].module == module && rows[i].offset < end));
	*n = to > from ? to - from : 0;
	return rows ? rows + from : NULL;
}

static void add(struct mispredictions *sum, const struct profile *profile,
		const struct profile_branch *branch)
{
	const double half = (double)branch->executions * fmin(1, branch->halfwidth);
	sum->n += times_of(branch);
	sum->variance += half * half;
	sum->seconds += mispredictions_seconds(profile, branch);
}

static const struct profile_branch *branches_of(const struct profile *profile,
						const struct model_function *f, size_t *n)
{
	*n = 0;
	if (f->function == PROFILE_NONE)
		return NULL;
	const struct profile_function *row = &profile->functions[f->function];
	return branches_in(profile, row->module, row->start, row->end, n);
}

struct mispredictions mispredictions_in_function(const struct profile *profile,
						 const struct model_function *f)
{
	struct mispredictions sum = {0};
	size_t n;
	const struct profile_branch *branches = branches_of(profile, f, &n);
	for (size_t i = 0; i < n; i++)
		add(&sum, profile, &branches[i]);
	return sum;
}

void mispredictions_by_loop(const struct profile *profile, const struct model_function *f,
			    struct mispredictions *sums)
{
	size_t n;
	const struct profile_branch *branches = branches_of(profile, f, &n);
	for (size_t i = 0; i < n; i++)
		add(&sums[model_loops_at(f, branches[i].offset)], profile, &branches[i]);
}

size_t mispredictions_worst(const struct profile *profile, const struct model_function *f, size_t n,
			    const struct profile_branch **worst)
{
	size_t found = 0, n_branches;
	const struct profile_branch *branches = branches_of(profile, f, &n_branches);
	for (size_t i = 0; i < n_branches && n; i++) {
		const double often = times_of(&branches[i]);
		size_t at = found;
		for (; at > 0 && times_of(worst[at - 1]) < often; at--)
			if (at < n)
				worst[at] = worst[at - 1];
		if (at < n && often > 0) {
			worst[at] = &branches[i];
			found += found < n;
		}
	}
	return found;
}

#define LEAST_TOLD 0.03 /* of the function's time */

size_t mispredictions_told(const struct profile *profile, const struct model_function *f,
			   double seconds, const struct profile_branch *told[MISPREDICTIONS_TOLD])
{
	size_t n = mispredictions_known(profile)
			   ? mispredictions_worst(profile, f, MISPREDICTIONS_TOLD, told)
			   : 0;
	size_t kept = 0;
	for (size_t i = 0; i < n; i++)
		if (told[i]->share > told[i]->halfwidth &&
		    mispredictions_seconds(profile, told[i]) >= LEAST_TOLD * seconds)
			told[kept++] = told[i];
	return kept;
}

static const char *const kinds[N_PROFILE_BRANCH_KINDS][2] = {
	[PROFILE_BRANCH_CONDITIONAL] = {"conditional", "branch"},
	[PROFILE_BRANCH_JUMP] = {"jump", "indirect jump"},
	[PROFILE_BRANCH_CALL] = {"call", "indirect call"},
	[PROFILE_BRANCH_RETURN] = {"return", "return"},
};

const char *mispredictions_kind_name(enum profile_branch_kind kind)
{
	return kinds[kind][0];
}

const char *mispredictions_kind_words(enum profile_branch_kind kind)
{
	return kinds[kind][1];
}
