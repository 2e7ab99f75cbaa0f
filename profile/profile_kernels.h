/* Work for kernels (--kernel, docs/kernels.md) in a profile while it is recorded.
 *
 * What a thread does while it works for a kernel is counted as if another thread did it: it has a
 * number of its own, a share, where rows of threads are meant.  At the end of the run the rows get
 * their thread back, and the kernel beside it. */
#pragma once

#include "profile/profile.h"

/* Numbers from this one on are shares; a profile has fewer threads. */
#define KERNEL_SHARES (1u << 19)

/* What `thread` does for `kernel` (a row of kernels). */
struct kernel_share {
	uint32_t thread, kernel;
};

/* The number of a share, find-or-add; that of the thread itself when memory is short. */
uint32_t profile_kernel_share(struct profile *profile, uint32_t thread, uint32_t kernel);
/* The share, or NULL: the number is that of a thread. */
const struct kernel_share *profile_share(const struct profile *profile, uint32_t number);

/* Counts a call of a kernel by a thread. */
void profile_kernel_call(struct profile *profile, uint32_t kernel, uint32_t thread);

/* Gives the rows of counts, units and traffic their threads and kernels; and the kernels the
 * number of their threads.  No number of a share is left. */
void profile_settle_kernels(struct profile *profile);
/* The kernel of a row of these tables, or PROFILE_NONE. */
static inline uint32_t profile_kernel_of(const struct profile *profile, uint32_t kernel)
{
	return kernel && kernel <= profile->n_kernels ? kernel - 1 : PROFILE_NONE;
}
