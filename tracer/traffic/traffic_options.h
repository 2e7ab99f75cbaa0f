/* How the counted run finds out what moves between the levels of the memory hierarchy: what the
 * command line says of it. */
#pragma once

#include "base/words.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Without --cache-sample: so many classes of sets at first, halved as long as threads wait for the
 * simulation, down to two; and so many where they cannot be halved. */
#define TRAFFIC_MOST 16
#define TRAFFIC_FEWEST 4

/* Without --slowdown. */
#define TRAFFIC_SLOWDOWN 1.35
#define TRAFFIC_LEAST_S 0.5

struct geometry;      /* cache/geometry.h */
struct machine_cache; /* machine/data/machine.h */
struct kept_store;    /* base/kept_store.h */

/* What kernels find in the simulated caches when they are called. */
enum caches_at_calls {
	CACHES_AS_IS, /* what was left there */
	CACHES_COLD,  /* nothing */
	CACHES_WARM,  /* what the same call would leave there */
};

extern const struct rf_word caches_at_calls_words[]; /* --caches= */

struct traffic_options {
	bool trace; /* false: no traffic; set by the choice of sources (tracer/pmu/pmu_plan.h) */
	/* The hierarchy to simulate, such as L1=48K:12,L2=2M:16,L3=32M:16, or the name of a file
	 * that describes one, or GEOMETRY_NOMINAL; NULL: this machine's. */
	const char *cache;
	uint64_t last_cache_bytes; /* of this machine's, by measurement; 0: as reported */
	/* This machine's as the system reports them; none: it is asked. */
	const struct machine_cache *caches;
	size_t n_caches;
	/* One class of sets in so many is simulated (cache/traffic.h); 1: all, CACHE_CLASSES: one;
	 * 0: as many as can be simulated meanwhile. */
	unsigned cache_sample;
	/* So many times as long as counted code may traced code take, at most 1,000: outside of
	 * windows of time it runs without checks (target/windows.h).  0: all of it is traced. */
	double slowdown;
	double least_s;      /* but so many s may it take longer in any case */
	double native_s;     /* what the program takes natively; 0: not known */
	const char *kernels; /* names with commas between them (tracer/kernel), or NULL */
	enum caches_at_calls caches_at_calls;
	/* Another machine's caches, in which the same is simulated, too; or NULL.  Only with a
	 * cache_sample of 1 and a slowdown of 0. */
	const struct geometry *other;
	bool tlb; /* one is simulated: of tlb_pages, or where these are 0 of this machine's reach */
	/* Pages of 4 KiB that the nearest and the farthest TLB reach, of which all accesses are
	 * recorded then; 0: none is simulated. */
	uint32_t tlb_pages[2];
	bool cache_prefetch;     /* a miss brings the next line, too */
	struct kept_store *kept; /* of earlier runs, or NULL: nothing is kept */
};

/* Pages of a near TLB and of a farther, larger one, from NEAR:FAR; 1,048,576 at the most.  False:
 * it is none, and nothing is set. */
bool tlb_pages_parse(const char *text, uint32_t pages[2]);
