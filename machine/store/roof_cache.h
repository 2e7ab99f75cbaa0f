/* The measured roofs, kept as one JSON file per machine and set of limits:
 *
 *   { "key": { … roof_cache_key() … }, "machine": { … machine_json.h … } }
 *
 * in $XDG_CACHE_HOME/rfprof, else ~/.cache/rfprof. */
#pragma once

#include "machine/data/machine.h"
#include "machine/store/keep_file.h"
#include "machine/topology/topology.h"

/* Goes up with each change to what is measured or how, and to the file's form. */
#define ROOF_CACHE_VERSION 11

/* All that the roofs depend on: CPU model, microcode, kernel, hardware threads with their caches
 * (that is, topology inside the affinity mask), limits of the control group, and the version.  The
 * caller owns the reference; NULL when memory is short. */
json_t *roof_cache_key(const struct topology *topology);

extern const struct keep_place roof_cache_place;

/* The file of a key in a directory, heap; NULL when memory is short. */
char *roof_cache_path(const char *directory, json_t *key);

/* Reads a file.  RF_EUNAVAILABLE: there is none, or it is of another key (stale); RF_EFORMAT: it
 * is corrupt; RF_EACCESS: it is not to be trusted, or cannot be opened.  *machine is set on success
 * only. */
struct rf_error *roof_cache_load(const char *path, json_t *key, struct machine *machine);

/* Writes a file whole or not at all. */
struct rf_error *roof_cache_save(const char *path, json_t *key, const struct machine *machine);
