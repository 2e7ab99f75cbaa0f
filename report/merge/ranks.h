/* The profiles of the ranks of one job become one, which holds sums alone: the work of each
 * function is the exact sum of its work in all ranks.  They are added one at a time, so that memory
 * grows with the functions, not with the ranks (but for some hundred bytes of each). */
#pragma once

#include "profile/profile.h"

/* Functions, those with most time, of which the time in each rank is kept (profile->rank_times). */
enum { RANK_TIME_ROWS = 64 };

struct ranks_merge;

struct rf_error *ranks_merge_create(struct ranks_merge **out);
void ranks_merge_destroy(struct ranks_merge *merge);

/* Adds a profile, as profile_load_parts reads it with PROFILE_SUMS; it is changed.  `file`: its
 * name.  One that does not say which rank it is of gets the number of those before.  RF_EINPUT:
 * that rank is there already, or the profile is one of ranks that were merged. */
struct rf_error *ranks_merge_add(struct ranks_merge *merge, struct profile *profile,
				 const char *file);
/* The profile of all; the merge is then to be destroyed.  RF_EINPUT: there was none. */
struct rf_error *ranks_merge_finish(struct ranks_merge *merge, struct profile **out);
