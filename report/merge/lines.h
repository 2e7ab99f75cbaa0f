/* Lines that functions moved, by sampled class of sets, of many ranks together. */
#pragma once

#include "profile/profile.h"

#include <stdbool.h>

/* Makes rows of `n` classes (a power of two times `fewer`) such of `fewer`: each new one is the
 * mean of n / fewer old ones, so that what follows from them stays as it was.  False: memory is
 * short. */
bool merge_lines_reduce(struct profile_sum_traffic *row, unsigned n, unsigned fewer);
/* Adds, class by class, the lines of another row of as many classes.  False: memory is short. */
bool merge_lines_add(struct profile_sum_traffic *to, const struct profile_sum_traffic *more,
		     unsigned n);
