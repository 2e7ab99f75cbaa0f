/* What waits and system calls are called, the same in all views. */
#pragma once

#include "profile/profile.h"

#include <stdbool.h>
#include <stddef.h>

/* "lock", "condition", …, "other". */
const char *account_wait_word(enum wait_kind kind);
/* Whether a system call returns how many bytes it moved. */
bool account_moves_bytes(uint32_t number);
/* What of the account could not be seen, and why, in `text`; NULL: all of it was. */
const char *account_missing(const struct profile *profile, char *text, size_t size);
/* What explains a wait for other threads most: the function that ran meanwhile, or the one in which
 * who let the waiting thread go on had waited itself; NULL: not known. */
const struct profile_sum_runner *account_runner(const struct profile *profile,
						const struct profile_sum_wait *wait);
/* "work 93 %", or of one that waited "hold [clock_nanosleep] 93 %"; in `text`. */
void account_runner_words(const struct profile *profile, const struct profile_sum_runner *runner,
			  char *text, size_t size);
/* The function that a region of OpenMP stands in; NULL of one that waits at barriers itself. */
const char *account_region_caller(const struct profile *profile,
				  const struct profile_sum_region *region);
/* "parallel region in solve (solve._omp_fn.0): 4 threads, the slowest 2.0 s, …"; in `text`. */
void account_region_words(const struct profile *profile, const struct profile_sum_region *region,
			  char *text, size_t size);
/* The region that loses most; NULL: there is none. */
const struct profile_sum_region *account_worst_region(const struct profile *profile);
