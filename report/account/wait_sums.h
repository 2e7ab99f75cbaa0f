/* Waits by the program's own functions, and who held them up: the tables sum_waits and sum_runners.
 */
#pragma once

#include "profile/profile.h"

/* Makes both tables anew, from profile->waits and profile->meanwhile, which is freed.  `places`: of
 * each frame; `own`: of each frame of the kernel's, the place of the function behind it.  Fails
 * only when memory is short. */
struct rf_error *wait_sums_make(struct profile *profile, const uint32_t *places,
				const uint32_t *own);
