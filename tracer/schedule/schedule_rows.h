/* What threads did by the clock, as rows of the profile. */
#pragma once

#include "profile/profile.h"
#include "tracer/schedule/schedule.h"

/* Adds the tables of thread times, concurrency and slices, and the fact slice_ns, of a schedule
 * that is finished; times are since `start`.  Nothing where there were no records of switches.
 * Fails only when memory is short. */
struct rf_error *schedule_save(const struct schedule *schedule, uint64_t start,
			       struct profile *profile);
