/* Small JSON files that rfprof keeps in the user's directories (XDG Base Directory Specification).
 */
#pragma once

#include "base/error.h"

#include <jansson.h>

struct keep_place {
	const char *variable;   /* "XDG_CONFIG_HOME" */
	const char *below_home; /* what stands in where it is not set: ".config" */
	const char *what;       /* what is kept there, for messages: "custom roofs" */
};

/* The directory's name, "…/rfprof", in *out, heap.  RF_EACCESS when there is no home directory. */
struct rf_error *keep_file_directory(const struct keep_place *place, char **out);

/* Makes the directory and its parents where they are not there; RF_EACCESS when it cannot be
 * written to. */
struct rf_error *keep_file_prepare(const struct keep_place *place, const char *directory);

/* Writes `json` to `path` whole or not at all, for nobody else to read (base/whole_file.h). */
struct rf_error *keep_file_save(const struct keep_place *place, const char *path,
				const json_t *json);

/* Reads it; json_loadf's flags.  RF_EUNAVAILABLE: there is none; RF_EACCESS: it cannot be
 * opened, is another user's, or can be written by others (base/trusted_file.h); RF_EFORMAT: it is
 * no JSON.  *json is set on
 * success only; the caller owns the reference. */
struct rf_error *keep_file_read(const char *path, size_t flags, json_t **json);

/* Takes the directory's lock, so that of two processes one waits, at most `wait_ms`.  Returns a
 * descriptor to close, or -1: no lock, go on. */
int keep_file_lock(const char *directory, int wait_ms);
