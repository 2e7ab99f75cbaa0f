/* Names of files that each rank writes one of. */
#pragma once

#include "base/error.h"
#include "ranks/rank.h"

#include <stdbool.h>

/* Whether a name has "%r". */
bool rank_path_is_own(const char *path);
/* The name with the rank's number for each "%r".  One without gets ".NUMBER" before its ending
 * where `own` says that no two ranks may write it.  Of a process that is no rank the name is as it
 * was.  *out is to be freed; NULL for NULL.  Fails only when memory is short. */
struct rf_error *rank_path(const struct rank *rank, const char *path, bool own, char **out);
