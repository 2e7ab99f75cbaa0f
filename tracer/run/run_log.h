/* What rfprof says while it runs a program, and which of it the profile keeps. */
#pragma once

#include "base/error.h"
#include "base/whole_file.h"
#include "profile/profile.h"

#include <stdbool.h>
#include <stdio.h>

struct run_log {
	FILE *stream;
	struct whole_file file; /* of --log */
	bool quiet;             /* nothing but errors */
	struct profile *profile;
};

/* Opens the file `path`, or takes standard error for NULL; messages about rfprof's own failures go
 * there, too.  The profile is borrowed. */
struct rf_error *run_log_open(struct run_log *log, const char *path, bool quiet,
			      struct profile *profile);
void run_log_close(struct run_log *log);

/* Says a line, unless quiet. */
void run_log_say(const struct run_log *log, const char *text);
/* Keeps a line for the report's notes. */
void run_log_note(struct run_log *log, const char *text);
/* Says an error that is not the end, keeps it as a note, and frees it.  NULL: nothing. */
void run_log_warn(struct run_log *log, struct rf_error *error);
/* Whether a line that overwrites itself can be shown. */
bool run_log_is_terminal(const struct run_log *log);
