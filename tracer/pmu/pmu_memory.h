/* Bytes that the program moves to and from memory, measured by the processor during the timed run:
 * by resctrl for its tasks, else by the counters of the memory controllers, which know no process:
 * of each slice of time the program is given the share that it had of the CPU time of all. */
#pragma once

#include "base/error.h"
#include "profile/profile.h"
#include "tracer/perf/perf_source.h"

#include <sys/types.h>

struct pmu_memory;

/* NULL when one of them is there for sure to be tried, else RF_EUNAVAILABLE: why neither is.
 * `root`: "" for the real system, here and below. */
struct rf_error *pmu_memory_probe(const char *root);
/* Begins for `pid`, which waits before its execve. */
struct rf_error *pmu_memory_start(const struct perf_source *source, const char *root, pid_t pid,
				  struct pmu_memory **memory);
/* Ends a slice of time; often, from one thread at a time.  NULL is allowed, here and below. */
void pmu_memory_tick(struct pmu_memory *memory);
/* The program has ended: adds counters of the quantities memory_read_bytes and memory_write_bytes,
 * or memory_bytes where both are one sum. */
struct rf_error *pmu_memory_save(struct pmu_memory *memory, struct profile *profile);
void pmu_memory_destroy(struct pmu_memory *memory);
