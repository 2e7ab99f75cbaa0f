/* The kernel's time and waits by the program's own functions: the tables sum_kernel and sum_waits.
 */
#pragma once

#include "profile/profile.h"

/* Makes both tables of a profile whose code has its names, and the fact user_kernel_halfwidth_s.
 * Fails only when memory is short. */
struct rf_error *account_summarise(struct profile *profile);
