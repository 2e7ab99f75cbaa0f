/* Roofs that somebody states: a vendor's figures, another machine's.  They are drawn beside the
 * measured ones and never place a function.  Kept in $XDG_CONFIG_HOME/rfprof/roofs.json, else
 * ~/.config/rfprof/roofs.json, which may be written by hand too:
 *
 *   { "roofs": [ { "name": text, "value": number, "unit": "GFLOP/s" | "GB/s", "source": text } … ]
 * }
 *
 * Units are 1e9 flop/s and 1e9 bytes/s.  A name stands once in a file; values are finite and above
 * 0; texts are not empty, shorter than the members of struct custom_roof, and without control
 * characters. */
#pragma once

#include "base/error.h"
#include "machine/data/machine.h"

#include <jansson.h>

#define CUSTOM_ROOFS_MAX 64

struct custom_roof_set {
	struct custom_roof roofs[CUSTOM_ROOFS_MAX];
	size_t n;
};

/* The name of the file they are kept in, heap; RF_EACCESS without a home directory. */
struct rf_error *custom_roofs_path(char **out);

/* Reads what is kept.  No file, or nowhere to keep one: an empty set.  A file that cannot be read
 * is RF_EACCESS, one that is not as above RF_EFORMAT; *out is then empty. */
struct rf_error *custom_roofs_load(struct custom_roof_set *out);

/* Adds the roofs of a file to those that are kept; one of the same name is replaced.  The file is
 * one as above, or the output of `rfprof machine --json`, of which are taken, at the fewest and at
 * the most threads: the fastest double and single rate, and reading each level that can be told
 * from the next.  *imported gets what the file held.  RF_EFORMAT or RF_EACCESS: nothing is changed,
 * also when it is what is kept that cannot be read. */
struct rf_error *custom_roofs_import(const char *path, struct custom_roof_set *imported);

/* Removes the kept roof `name`, or all of them for "all"; *removed gets how many.  RF_EINPUT when
 * there is none of that name. */
struct rf_error *custom_roofs_forget(const char *name, size_t *removed);

/* The array "roofs" of the file; the caller owns the reference.  NULL: no memory. */
json_t *custom_roofs_to_json(const struct custom_roof *roofs, size_t n);
