/* The perf-PID.map files of a run's processes, and the jit-PID.dump files, which say besides when
 * code was where, and which a program maps so that profilers find them.  A file may be deleted when
 * its program ends, and in a container it can only be reached while the process lives: so it is
 * opened as soon as it is there, and read when its names are wanted.  Those of other users are not
 * (base/trusted_file.h).
 */
#pragma once

#include "symbols/jit_dump.h"

#include <stdint.h>

struct perf_maps;
struct perf_maps *perf_maps_create(void);
void perf_maps_destroy(struct perf_maps *maps);

/* A process has executable memory without a file: look for its names from now on. */
void perf_maps_watch(struct perf_maps *maps, uint32_t pid);
/* A process has mapped an executable file: its names, if it is a jit-PID.dump. */
void perf_maps_mapped(struct perf_maps *maps, uint32_t pid, const char *path);
/* A copy of `parent`: without names of its own it has its parent's. */
void perf_maps_fork(struct perf_maps *maps, uint32_t parent, uint32_t pid);
/* Opens what has appeared.  Cheap: one attempt for each watched process without a file. */
void perf_maps_look(struct perf_maps *maps);
/* Reads files again that have grown since they were read, each by a child. */
void perf_maps_refresh(struct perf_maps *maps);
/* Which file could not be read, and why, in words such as "perf-PID.map: …"; NULL: none. */
const char *perf_maps_trouble(const struct perf_maps *maps);

/* The code at an address of a process at a time (CLOCK_MONOTONIC, ns); false: it is not known.  Of
 * a perf-PID.map it has a name and a beginning.  Valid until the next refresh. */
bool perf_maps_find(struct perf_maps *maps, uint32_t pid, uint64_t address, uint64_t time,
		    struct jit_code *code);

/* What of all jit-PID.dump files is not used (symbols/jit_dump.h). */
unsigned perf_maps_unused(const struct perf_maps *maps);
/* The first file that was not read, and why, as a line without a full stop; NULL: there is none. */
const char *perf_maps_refused(const struct perf_maps *maps);
