/* Two profiles of one program, one that was timed and one that was counted, become one with both
 * runs. */
#pragma once

#include "profile/profile.h"

/* `time` and `count`: whole profiles (profile_load), of `rfprof --run=time` and `--run=count`,
 * named `time_path` and `count_path`.  Rows of `count` are added to `time`, whose sums are then
 * made anew.  RF_EINPUT where they are not of the same program with the same code (build ids),
 * arguments and rank, or not one of each kind. */
struct rf_error *join_runs(struct profile *time, const char *time_path, const struct profile *count,
			   const char *count_path);
