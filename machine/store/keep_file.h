/* Small JSON files that rfprof keeps in the user's directories (base/keep_place.h). */
#pragma once

#include "base/error.h"
#include "base/keep_place.h"

#include <jansson.h>

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
