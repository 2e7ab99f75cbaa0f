/* What calls of each kernel did (--kernel, docs/kernels.md). */
#pragma once

#include "base/error.h"
#include "profile/profile.h"

/* Fills the table kernel_sums of a profile that is complete but for sums, and in which waits are
 * summed up (account_summarise).  Fails only when memory is short. */
struct rf_error *kernel_sums(struct profile *profile);
