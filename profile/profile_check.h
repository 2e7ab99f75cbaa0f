/* What holds for every profile. */
#pragma once

#include "profile/profile.h"

/* Checks that each row refers only to rows that are there (a parent to an earlier one), that code
 * ends behind its start, that inlined code is in order, and that sums are of known kinds of flop.
 * NULL, or an error that says which row of `path` is wrong. */
struct rf_error *profile_check(const struct profile *profile, const char *path);
/* The same for rf_assert_dear. */
bool profile_is_sound(const struct profile *profile);
/* An error that says that the file is damaged, and how. */
struct rf_error *profile_damaged(const char *path, const char *what);
