/* Which samples of the timed run are of kernels (--kernel, docs/kernels.md). */
#pragma once

#include "profile/profile.h"

/* Per frame of the profile the outermost kernel that it is in, plus 1; 0: none; to be freed.  NULL:
 * no memory. */
uint32_t *kernel_frames(const struct profile *profile);

/* The same per sample: by its stack; where that does not lead back to the thread's beginning, by
 * what was counted of its outermost function; or, of a thread in whose samples there is no kernel
 * by these, by what was sampled of the other threads of its process at that time, since it may work
 * for them.  To be freed.  NULL: no memory. */
uint32_t *kernel_samples(const struct profile *profile);
