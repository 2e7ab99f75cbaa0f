/* Which files are the ranks of a job, and all of them put together. */
#pragma once

#include "profile/profile.h"

#include <stdbool.h>
#include <stdio.h>

/* Whether these words are profiles to be put together: several, or one that is a directory. */
bool rank_files_are_many(const char *const *names);
/* Reads and merges the profiles (ranks.h), one at a time.  Of a directory those of the job that
 * wrote last are taken; how many others there were is a note.  `names` ends with NULL.
 * Where `shown` is a terminal it tells meanwhile how far that is (base/progress.h); or NULL.
 * RF_EINPUT: files of several jobs were named, or a directory has none of a rank. */
struct rf_error *rank_files_merge(const char *const *names, FILE *shown, struct profile **out);
