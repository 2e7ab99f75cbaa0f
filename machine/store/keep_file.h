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

/* Writes `json` to `path` whole or not at all: temporary file beside it, then rename, with signals
 * blocked.  Where `path` is a symbolic link, the file that it leads to is replaced. */
struct rf_error *keep_file_save(const struct keep_place *place, const char *path,
				const json_t *json);
