/* The caches of this machine. */
#pragma once

#include "cache/geometry.h"
#include "machine/data/machine.h"

#include <stddef.h>

/* What CPUID says of a level: leaf 4 (Intel) or 8000001Dh (AMD). */
struct cache_cpuid {
	uint64_t bytes;
	unsigned ways;
	bool inclusive;
};

/* The geometry of this machine, of the first core that this process may use.
 *
 * Sizes and ways come from the operating system (hwloc), where it does not tell (a container
 * without /sys) from CPUID, and when neither gives a geometry that is possible they are assumed;
 * ->source says which: GEOMETRY_MACHINE or GEOMETRY_ASSUMED.  What passes between the levels comes
 * from the processor's row of policies.def; where CPUID contradicts it about inclusion, CPUID is
 * followed; ->policy says so. */
void geometry_of_machine(struct geometry *geometry);

/* The same from what was found: `caches` by the operating system (ways −1: fully associative, 0:
 * not known), `cpuid` (by level, bytes 0: nothing), and the name of the microarchitecture, or NULL.
 */
void geometry_from_found(const struct machine_cache *caches, size_t n_caches,
			 const struct cache_cpuid cpuid[CACHE_LEVELS],
			 const char *microarchitecture, struct geometry *geometry);

/* The word that stands for this machine's caches as they are reported. */
#define GEOMETRY_NOMINAL "nominal"

/* What is known of this machine's caches beforehand. */
struct geometry_known {
	const struct machine_cache *caches; /* as the system reports them; none: it is asked */
	size_t n_caches;
	uint64_t last_bytes; /* what a thread has of the last one, by measurement; 0: as reported */
};

/* What a run simulates: what the user gave (GEOMETRY_NOMINAL, or as geometry_given()), or NULL:
 * this machine's caches, the last of them with known->last_bytes where that is less than reported
 * and possible (GEOMETRY_EFFECTIVE).  Errors: as geometry_given(), and caches of other lines than
 * CACHE_LINE, or whose L1 writes through: no machine's that rfprof runs on. */
struct rf_error *geometry_wanted(const char *given, const struct geometry_known *known,
				 struct geometry *geometry);

/* Makes the last of several levels no larger than `bytes`, which is its size over a power of two,
 * by fewer sets.  Leaves a geometry alone that would be impossible, or none of the machine's. */
void geometry_limit_last(uint64_t bytes, struct geometry *geometry);
