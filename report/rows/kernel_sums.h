/* What calls of each kernel did (--kernel, docs/kernels.md). */
#pragma once

#include "base/error.h"
#include "profile/profile.h"

/* Fills the table kernel_sums of a profile that is complete but for sums, and in which waits are
 * summed up (account_summarise).  Fails only when memory is short. */
struct rf_error *kernel_sums(struct profile *profile);
/* Whether it is known which calls there were: a process that ran already is only sampled. */
bool kernel_calls_known(const struct profile *profile);
/* The times of single calls of a kernel; NULL: there are none, or calls are too short for their
 * times to be exact. */
const struct profile_kernel_time *kernel_time_of(const struct profile *profile, uint32_t kernel);
