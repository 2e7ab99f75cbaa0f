/* How evenly parallel regions share out their work: the table sum_regions. */
#pragma once

#include "profile/profile.h"

/* Makes the table anew, of a profile whose waits are known (PERF_RECORD_SWITCH, samples of the
 * kernel); else it is empty.  `places`: of each frame.  Fails only when memory is short. */
struct rf_error *region_sums_make(struct profile *profile, const uint32_t *places);
