/* The user's directories in which rfprof keeps files (XDG Base Directory Specification). */
#pragma once

#include "base/error.h"

#include <stddef.h>

struct keep_place {
	const char *variable;   /* "XDG_CONFIG_HOME" */
	const char *below_home; /* what stands in where it is not set: ".config" */
	const char *what;       /* what is kept there, for messages: "custom roofs" */
};

/* The directory's name, "…/rfprof", in *out, heap.  RF_EACCESS when there is no home directory. */
struct rf_error *keep_place_directory(const struct keep_place *place, char **out);

/* Makes the directory and its parents where they are not there; RF_EACCESS when it cannot be
 * written to. */
struct rf_error *keep_place_prepare(const struct keep_place *place, const char *directory);

/* The next step for the user where a file cannot be kept. */
void keep_place_hint(const struct keep_place *place, char *hint, size_t size);
