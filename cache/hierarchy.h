/* Simulates the caches of a machine: which lines move between which levels, for whom.
 *
 * Each core has its private caches, all share the last; the rules are in docs/traffic.md ("The
 * simulated caches").  Sets are simulated whole, by classes (traffic.h): the lines of a class never
 * meet those of another, so that any choice of classes gives for these exactly what simulating all
 * would. */
#pragma once

#include "cache/geometry.h"

enum cache_access {
	CACHE_LOAD,
	CACHE_STORE,
	CACHE_NON_TEMPORAL, /* a store past the caches */
	CACHE_FLUSH,        /* clflush, clflushopt: written back and removed everywhere */
	CACHE_CLEAN,        /* clwb: written back, and kept */
	CACHE_LINE_ZERO,    /* clzero: the whole line is written past the caches */
};

struct hierarchy;

/* Called for each store that an L1 which writes through passes on: n bytes of a line go to L2. */
typedef void hierarchy_through(void *context, uint32_t who, uint64_t line, unsigned n);

/* Called for each line that crosses a border.  `who` is the one who caused it: of a write-back (and
 * of TRAFFIC_MEM_LEFT) the last writer's, of TRAFFIC_MEM_EVADABLE that of the write-allocate, of
 * TRAFFIC_L3_CLEAN_VICTIM who fetched the line, else that of the access at hand. */
typedef void hierarchy_note(void *context, enum traffic event, uint32_t who, uint64_t line);

/* An empty hierarchy.  `n_cores`: how many cores to expect; more are added when they are used.
 * `classes`: bit k is set when class k is simulated; geometry_classes() says which must be
 * together, and is applied here.  `next_line_prefetch`: a miss of L2 fetches the other line of the
 * aligned pair into L2 as well. NULL when memory is short. */
struct hierarchy *hierarchy_create(const struct geometry *geometry, unsigned n_cores,
				   uint64_t classes, bool next_line_prefetch, hierarchy_note *note,
				   void *context);
void hierarchy_destroy(struct hierarchy *hierarchy);

/* From now on the events that are open (traffic.h) are noted, too: reads for the access at hand,
 * writes for the last writer. */
void hierarchy_tell_open(struct hierarchy *hierarchy);

/* Of an L1 that writes through: `through` is called, with the context of the events. */
void hierarchy_tell_through(struct hierarchy *hierarchy, hierarchy_through *through);

/* For tests: the classes that are simulated. */
uint64_t hierarchy_classes(const struct hierarchy *hierarchy);

/* One access of a core to bytes first_byte … first_byte + n_bytes − 1 of a line (address / 64, or
 * the geometry's line); an access that straddles lines is one for each.  `who` is any number but
 * UINT32_MAX.  Bits 51 and up of `line` may tell address spaces apart.  Lines of other classes are
 * ignored. */
void hierarchy_access(struct hierarchy *hierarchy, unsigned core, uint64_t line,
		      enum cache_access kind, unsigned first_byte, unsigned n_bytes, uint32_t who);

/* How often a line was taken out of a core's L1 that no other line replaced: by an inclusive level
 * that replaced it, by other cores, or by what goes past the caches. */
uint64_t hierarchy_taken(const struct hierarchy *hierarchy);

/* The end: flushes what waits to be combined (TRAFFIC_MEM_NON_TEMPORAL), and notes TRAFFIC_MEM_LEFT
 * for each line that is still changed.  Accesses may follow; the caches keep their lines, which are
 * then clean. */
void hierarchy_finish(struct hierarchy *hierarchy);

/* The same, and then all caches are empty: nothing of what was there is written to memory for
 * anyone.
 */
void hierarchy_empty(struct hierarchy *hierarchy);

/* Accesses that were not simulated: memory was short, or they were spread over more than 2^18 − 1
 * regions of 64 MiB (fewer for caches of fewer than 64 sets), of all address spaces.  To be
 * reported when it is not 0. */
uint64_t hierarchy_lost(const struct hierarchy *hierarchy);
