/* A roof is the best that rfprof's own kernels reached, when they were measured.  What the facts
 * tell of a point above it, the surest first; where they tell nothing, what is left. */
#include "report/reasons/above.h"

#include "report/model/model_bandwidths.h"

#include <string.h>

/* Whether the two runs are known to have done different work. */
static bool runs_differ(const struct profile *profile)
{
	return profile_fact_is(profile, "stdout_same", "different") ||
	       profile_fact_is(profile, "exit_same", "different");
}

/* Whether zeros move at least as fast as it does at its level, and faster than its own mix can. */
static bool may_be_zeros(const struct report_view *view, const struct model_function *f)
{
	const struct model_level *level =
		f->traffic ? model_level(f->traffic, f->place.level) : NULL;
	const double zeros = level ? model_level_zeros(view->profile, roof_level_find(level->name),
						       f->concurrency)
				   : 0;
	return level && zeros > level->bandwidth && zeros * (1 + MODEL_TOLERANCE) >= level->rate &&
	       level->moved[DIRECTION_WRITE].bytes > 0;
}

struct above_reason report_above_reason(const struct report_view *view,
					const struct model_function *f)
{
	const struct model_place *place = &f->place;
	const bool shared = f->traffic && f->traffic->source == MEMORY_SHARED;
	if (runs_differ(view->profile))
		return (struct above_reason){
			"its work is of one run and its time of another, and these two differed",
			"an input with which every run does the same"};
	if (may_be_zeros(view, f))
		return (struct above_reason){
			place->late_writes
				? "zeros move that fast on this machine; or what it changed moved "
				  "later, in the time of other functions"
				: "zeros move that fast on this machine, other data do not",
			"rfprof machine shows what it moves of zeros; --direction=read: what is "
			"read is all its own"};
	if (place->late_writes)
		return (struct above_reason){"what it changed is counted to it, but may have moved "
					     "later, in the time of "
					     "other functions",
					     "--direction=read: what is read is all its own"};
	if (shared && place->level[0])
		return (struct above_reason){
			"its memory traffic is an estimate, shared out among functions",
			"a run without --traffic=pmu: what is traced is each function's own"};
	if (place->noisy)
		return (struct above_reason){"its roof was measured on a busy machine",
					     "rfprof machine --refresh on a quiet machine"};
	if (place->interpolated)
		return (struct above_reason){
			"no roof was measured at its number of threads, and those around are lower",
			"rfprof machine --threads=N with its number of threads"};
	return (struct above_reason){
		"the machine was faster than when its roofs were measured, or moves these data "
		"faster than those that roofs are measured with (zeros, on some processors)",
		"rfprof machine --refresh, then the run again"};
}
