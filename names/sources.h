/* The source text around the code that took time, kept in the profile: a reader of it may not have
 * the files. */
#pragma once

#include "base/error.h"
#include "profile/profile.h"

/* Adds the lines of functions with time to `sources` and `source_lines`, and says of each file that
 * cannot be taken why.  Names must have been resolved.  Fails only when memory is short. */
struct rf_error *name_sources(struct profile *profile);
