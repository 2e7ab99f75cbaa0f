/* Finds the caches of this machine: from the operating system, from CPUID, or assumed. */
#include "cache/geometry_machine.h"

#include "cache/policy.h"
#include "machine/topology/theory.h"
#include "machine/topology/topology.h"

#include <cpuid.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A middling core of today, for where nothing is told. */
#define ASSUMED "L1=32K:8,L2=1M:16,L3=32M:16"

/* ---- What CPUID says ---- */

/* Descriptions of caches one after another; the types 1 and 3 hold data [SDM vol. 2, CPUID leaf
 * 04H; APM vol. 3, 8000_001D]. */
static void read_leaf(unsigned leaf, struct cache_cpuid found[CACHE_LEVELS])
{
	for (unsigned i = 0; i < 16; i++) {
		unsigned eax, ebx, ecx, edx;
		if (!__get_cpuid_count(leaf, i, &eax, &ebx, &ecx, &edx) || !(eax & 31))
			return;
		unsigned type = eax & 31, level = eax >> 5 & 7;
		if ((type != 1 && type != 3) || level < 1 || level > CACHE_LEVELS)
			continue;
		uint64_t line = (ebx & 4095) + 1, partitions = (ebx >> 12 & 1023) + 1;
		unsigned ways =
			eax >> 9 & 1 ? CACHE_WAYS : (ebx >> 22) + 1; /* bit 9: fully associative */
		found[level - 1].bytes =
			line * partitions * ((ebx >> 22) + 1) * ((uint64_t)ecx + 1);
		found[level - 1].ways = ways;
		found[level - 1].inclusive = edx >> 1 & 1;
	}
}

static void read_cpuid(struct cache_cpuid found[CACHE_LEVELS])
{
	unsigned eax, ebx, ecx, edx;
	read_leaf(4, found);
	/* AMD's leaf may be read when its topology extensions are there. */
	if (!found[0].bytes && __get_cpuid(0x80000001, &eax, &ebx, &ecx, &edx) && ecx >> 22 & 1)
		read_leaf(0x8000001d, found);
}

/* ---- Sizes ---- */

/* The most ways, up to `ways`, that a cache of that size can have; 0: none. */
static unsigned possible_ways(uint64_t bytes, unsigned ways)
{
	if (bytes % CACHE_LINE)
		return 0;
	while (ways && bytes / CACHE_LINE % ways)
		ways--;
	return ways;
}

static void add_level(struct geometry *geometry, uint64_t bytes, unsigned ways)
{
	struct cache_level *level = &geometry->levels[geometry->n_levels];
	ways = possible_ways(bytes, ways > CACHE_WAYS ? CACHE_WAYS : ways);
	if (!ways || bytes / CACHE_LINE / ways == 0)
		return;
	geometry->n_levels++;
	level->bytes = bytes;
	level->ways = ways;
	level->sets = bytes / CACHE_LINE / ways;
}

static void sizes_of_system(const struct machine_cache *caches, size_t n_caches,
			    const struct cache_cpuid *cpuid, struct geometry *geometry)
{
	for (size_t i = 0; i < n_caches && geometry->n_levels < CACHE_LEVELS; i++) {
		int level = geometry->n_levels + 1, ways = caches[i].ways;
		if (caches[i].level != level || caches[i].line_bytes != CACHE_LINE)
			continue;
		if (ways < 0)
			ways = CACHE_WAYS;
		else if (ways == 0)
			ways = cpuid[level - 1].ways;
		add_level(geometry, caches[i].size_bytes, ways);
	}
}

static void sizes_of_cpuid(const struct cache_cpuid *cpuid, struct geometry *geometry)
{
	for (int i = 0; i < CACHE_LEVELS && cpuid[i].bytes && geometry->n_levels == i; i++)
		add_level(geometry, cpuid[i].bytes, cpuid[i].ways);
}

/* ---- Policies ---- */

static void contradict(struct cache_level *level, int at, const char *row,
		       enum cache_inclusion inclusion, struct geometry *geometry)
{
	level->inclusion = inclusion;
	snprintf(geometry->policy, sizeof(geometry->policy), "%s, but L%d %s (CPUID)", row, at + 1,
		 inclusion == CACHE_INCLUSIVE ? "inclusive"
		 : inclusion == CACHE_VICTIM  ? "not inclusive: taken as a victim cache"
					      : "not inclusive");
}

static void apply_policy(const char *microarchitecture, const struct cache_cpuid *cpuid,
			 struct geometry *geometry)
{
	const struct cache_policy *row =
		microarchitecture ? cache_policy_find(microarchitecture) : NULL;
	row = row ? row : &cache_policies[0];
	cache_policy_apply(row, geometry);
	for (int i = 0; i < geometry->n_levels; i++) {
		struct cache_level *level = &geometry->levels[i];
		level->shared = i > 0 && i == geometry->n_levels - 1;
		if (i == 0 || !cpuid[i].bytes ||
		    (level->inclusion == CACHE_INCLUSIVE) == cpuid[i].inclusive)
			continue;
		contradict(level, i, row->name,
			   cpuid[i].inclusive ? CACHE_INCLUSIVE
			   : i == 2           ? CACHE_VICTIM
					      : CACHE_NON_INCLUSIVE,
			   geometry);
	}
}

/* ---- All together ---- */

/* Whether a given geometry like this would be accepted. */
static bool is_possible(const struct geometry *geometry)
{
	struct geometry parsed;
	char *text = geometry_print(geometry);
	struct rf_error *error = text && *text ? geometry_parse(text, &parsed) : NULL;
	bool possible = text && *text && !error;
	rf_error_destroy(error);
	free(text);
	return possible;
}

void geometry_from_found(const struct machine_cache *caches, size_t n_caches,
			 const struct cache_cpuid cpuid[CACHE_LEVELS],
			 const char *microarchitecture, struct geometry *out)
{
	for (int source = 0; source < 2; source++) {
		struct geometry geometry = {.line = CACHE_LINE, .source = GEOMETRY_MACHINE};
		if (source == 0)
			sizes_of_system(caches, n_caches, cpuid, &geometry);
		else
			sizes_of_cpuid(cpuid, &geometry);
		apply_policy(microarchitecture, cpuid, &geometry);
		if (is_possible(&geometry)) {
			*out = geometry;
			return;
		}
	}
	static const struct cache_cpuid nothing[CACHE_LEVELS];
	rf_error_destroy(geometry_parse(ASSUMED, out));
	apply_policy(microarchitecture, nothing, out);
	out->source = GEOMETRY_ASSUMED;
}

static void from_reported(const struct machine_cache *caches, size_t n_caches,
			  struct geometry *geometry)
{
	struct cache_cpuid cpuid[CACHE_LEVELS] = {0};
	const struct microarchitecture *row = microarchitecture_here();
	read_cpuid(cpuid);
	geometry_from_found(caches, n_caches, cpuid, row ? row->name : NULL, geometry);
}

void geometry_of_machine(struct geometry *geometry)
{
	struct topology topology = {0};
	struct rf_error *error = topology_read(&topology);
	from_reported(topology.caches, topology.n_caches, geometry);
	if (!error)
		topology_deinit(&topology);
	rf_error_destroy(error);
}

/* ---- What a run simulates ---- */

void geometry_limit_last(uint64_t bytes, struct geometry *geometry)
{
	struct geometry limited = *geometry;
	struct cache_level *last = &limited.levels[limited.n_levels - 1];
	if (limited.source != GEOMETRY_MACHINE || limited.n_levels < 2 || !bytes ||
	    bytes >= last->bytes)
		return;
	while (last->bytes > bytes && last->sets % 2 == 0) {
		last->bytes /= 2;
		last->sets /= 2;
	}
	limited.source = GEOMETRY_EFFECTIVE;
	if (last->bytes == bytes && is_possible(&limited))
		*geometry = limited;
}

/* What times and roofs of this machine can be set beside. */
static struct rf_error *as_this_machine(const struct geometry *geometry)
{
	if (geometry->line == CACHE_LINE && !geometry->write_through)
		return NULL;
	return rf_error_create(RF_EINPUT, "--other-caches simulates them beside this machine's",
			       "cache geometry: this machine's caches have lines of %d bytes, and "
			       "an L1 that writes back",
			       CACHE_LINE);
}

struct rf_error *geometry_wanted(const char *given, const struct geometry_known *known,
				 struct geometry *geometry)
{
	const bool nominal = given && strcmp(given, GEOMETRY_NOMINAL) == 0;
	if (given && !nominal) {
		struct rf_error *error = geometry_given(given, geometry);
		return error ?: as_this_machine(geometry);
	}
	if (known->n_caches)
		from_reported(known->caches, known->n_caches, geometry);
	else
		geometry_of_machine(geometry);
	if (!nominal)
		geometry_limit_last(known->last_bytes, geometry);
	return NULL;
}
