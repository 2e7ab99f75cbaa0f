/* Files that the user names for rfprof's own output. */
#pragma once

#include "base/error.h"

#include <stdio.h>

/* Opens `path` for writing, or takes `instead`, which stays open, when path is NULL. */
struct rf_error *output_file_open(const char *path, FILE *instead, FILE **stream);

/* Flushes what was opened so, and closes it.  Passes `error` through when there is one already.
 * That nobody reads the end of the table is none. */
struct rf_error *output_file_close(const char *path, FILE *stream, struct rf_error *error);

/* Says before anything is run whether `path` can be written (NULL, or "-": nothing to say). Creates
 * nothing and changes nothing. */
struct rf_error *output_file_check(const char *path);
