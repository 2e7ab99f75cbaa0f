/* Files that the user names for rfprof's own output. */
#pragma once

#include "base/whole_file.h"

#include <stdio.h>

struct output_file {
	FILE *stream; /* to write to */
	bool is_file; /* else a stream that stays open */
	struct whole_file whole;
};

/* Opens `path` for writing, or takes `instead`, which stays open, when path is NULL. */
struct rf_error *output_file_open(const char *path, FILE *instead, struct output_file *file);

/* Flushes what was opened so, and closes it; the file takes its name.  Where `error` is one already
 * it is passed through, and the file is not made. */
struct rf_error *output_file_close(struct output_file *file, struct rf_error *error);

/* Flushes a stream that stays open, as one taken instead.  That nobody reads the end of the table
 * is no error. */
struct rf_error *output_stream_flush(FILE *stream, struct rf_error *error);

/* Says before anything is run whether `path` can be written (NULL, or "-": nothing to say). Creates
 * nothing and changes nothing. */
struct rf_error *output_file_check(const char *path);

/* The path of a snapshot's profile: "FILE.3.rfp" of "FILE.rfp", or "rfprof-PROGRAM.3.rfp" where
 * `path` is NULL; to be freed.  NULL: no memory. */
char *output_file_snapshot(const char *path, const char *program, unsigned number);
