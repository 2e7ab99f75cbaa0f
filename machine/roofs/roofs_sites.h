/* Where rows are measured: teams of threads and their memory. */
#pragma once

#include "machine/roofs/roofs_run.h"

/* Bytes that each of the first `n_threads` threads walks through to measure a cache level (1 to
 * 3), all arrays together; 0 when there is no such cache. */
uint64_t roofs_level_bytes(const struct topology *topology, int level, int n_threads);
/* The same for DRAM: 4 times the last-level caches, at least 64 MiB, over the threads. */
uint64_t roofs_dram_bytes(const struct topology *topology, int n_threads);

/* What each thread's memory has of a row; 0: it needs none. */
size_t roofs_row_bytes(const struct topology *topology, const struct roof *row);

/* The memory of each thread of a site: the least that one has. */
size_t roofs_arena_bytes(const struct roof_site *site);

/* A level to be measured at a site. */
struct level_size {
	enum roof_level level;
	size_t bytes; /* per thread, all arrays together */
};
#define SITE_LEVELS (TOPOLOGY_LEVELS + 1)
/* The levels of a site, innermost first; returns how many. */
size_t roofs_levels(const struct roofs_run *run, const struct roof_site *site,
		    struct level_size levels[SITE_LEVELS]);

/* The sizes of the walks of one thread, ascending: SITE_SIZES of them in equal steps of their
 * logarithm (fewer where small ones would be equal), from a quarter of L1 to 4 times the last-level
 * cache (twice, where 4 times is more than 512 MiB), or what memory there is; returns how many. */
#define SITE_SIZES 32
size_t roofs_sizes(const struct roofs_run *run, const struct roof_site *site,
		   struct level_size sizes[SITE_SIZES]);

/* Makes the sites: one for each thread count, and for each pair of NUMA nodes where there are
 * several. */
struct rf_error *roofs_make_sites(struct roofs_run *run);
void roofs_free_sites(struct roofs_run *run);
