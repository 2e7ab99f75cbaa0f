/* Files that the user names for rfprof's own output. */
#pragma once

#include "base/error.h"

#include <stdio.h>

struct output_file {
	FILE *stream;
	const char *path; /* NULL: a stream of the caller, which stays open */
};

/* Opens `path` for writing, or takes `instead` when path is NULL. */
struct rf_error *output_file_open(struct output_file *file, const char *path, FILE *instead);

/* Flushes and closes.  Passes `error` through when there is one already.  That nobody reads the end
 * of the table is none. */
struct rf_error *output_file_close(struct output_file *file, struct rf_error *error);

/* Says before anything is run whether `path` can be written (NULL, or "-": nothing to say). Creates
 * nothing and changes nothing. */
struct rf_error *output_file_check(const char *path);
