/* Names of functions that a program made at run time, from the file that it writes for profilers,
 * perf-PID.map (Linux: tools/perf/Documentation/jit-interface.txt): a line "START SIZE NAME" for
 * each, the numbers hexadecimal, the name up to the end of the line. */
#pragma once

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/* Of a longer file the end is read, and of more entries the last ones are kept. */
#define PERF_MAP_MAX_BYTES ((size_t)32 << 20)
#define PERF_MAP_MAX_ENTRIES ((size_t)1 << 20)
#define PERF_MAP_MAX_NAME 1023

struct perf_map;
/* Reads the file from its beginning, or of a long one the end; NULL when that fails.  Code moves
 * and its memory is used again: where entries overlap, the one written last holds.  Lines that are
 * none are left out. */
struct perf_map *perf_map_read(int fd);
/* The same by a child that has no rights.  Errors: no child; it failed. */
struct rf_error *perf_map_read_confined(int fd, struct perf_map **out);
void perf_map_destroy(struct perf_map *map);

/* The function that holds `address`, or NULL; *start gets where it begins.  The name lives as long
 * as the map. */
const char *perf_map_find(const struct perf_map *map, uint64_t address, uint64_t *start);
/* For tests and fuzzing: entries without what others cover. */
size_t perf_map_n_ranges(const struct perf_map *map);
