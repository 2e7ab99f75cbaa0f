/* Makes and frees the levels of a hierarchy, its cores, and the counts of lines' copies. */
#include "cache/levels.h"

#include "base/array.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Less, in bytes, is made zero sooner than its pages are given back. */
#define GIVEN_BACK ((size_t)1 << 20)
#define PRESENCE_CORES 3 /* with fewer a search is cheaper than the counting */

static void core_destroy(struct hierarchy *h, struct core *core)
{
	if (!core)
		return;
	for (int i = 0; i < h->n_private; i++)
		free(core->sets[i]);
	free(core->fresh);
	free(core->written);
	free(core->combining);
	free(core);
}

static char *allocate_sets(struct hierarchy *h, const struct level *level)
{
	return calloc((size_t)h->n_slots * level->sets, level->shape.bytes);
}

static struct core *core_create(struct hierarchy *h)
{
	struct core *core = calloc(1, sizeof(*core));
	if (!core)
		return NULL;
	*core = h->common;
	bool complete = true;
	for (int i = 0; i < h->n_private; i++)
		complete = (core->sets[i] = allocate_sets(h, &h->levels[i])) && complete;
	const size_t n_sets = (size_t)h->n_slots * h->levels[0].sets;
	const bool wide = h->line_bytes != CACHE_LINE;
	core->fresh = calloc(n_sets, h->fresh_bytes);
	if (wide)
		core->written = calloc(n_sets * h->levels[0].shape.ways, sizeof(*core->written));
	if (complete && core->fresh && (core->written || !wide))
		return core;
	core_destroy(h, core);
	return NULL;
}

/* Counts the copies that a core has of each line. */
static void presence_count(struct hierarchy *h, const struct core *core)
{
	for (int at = 0; at < h->n_private; at++) {
		const struct level *level = &h->levels[at];
		char *set = core->sets[at];
		for (uint32_t i = 0; i < h->n_slots * level->sets; i++, set += level->shape.bytes)
			for (unsigned way = 0; way < level->shape.ways; way++)
				if (set_lines(set)[way])
					presence_add(&h->presence, i / level->sets,
						     set_lines(set)[way]);
	}
}

/* Makes counts for twice as many cores as there are; without memory for them every core is
 * searched. */
static void presence_create(struct hierarchy *h)
{
	size_t lines = 0;
	for (int at = 0; at < h->n_private; at++)
		lines += (size_t)h->n_slots * h->levels[at].sets * h->levels[at].shape.ways;
	h->presence_cores = 2 * h->n_cores;
	h->presence.shift = 63;
	while (UINT64_C(1) << (64 - h->presence.shift) < 2 * lines * h->presence_cores)
		h->presence.shift--;
	free(h->presence.counts);
	h->presence.counts =
		calloc(UINT64_C(1) << (64 - h->presence.shift), sizeof(*h->presence.counts));
	for (size_t i = 0; h->presence.counts && i < h->n_cores; i++)
		if (h->cores[i])
			presence_count(h, h->cores[i]);
}

struct core *levels_add_core(struct hierarchy *h, unsigned number)
{
	while (h->n_cores <= number)
		if (!rf_array_push(h->cores, h->n_cores, h->cap_cores, NULL))
			return NULL;
	if (!h->cores[number])
		h->cores[number] = core_create(h);
	if (h->n_cores >= PRESENCE_CORES && h->n_cores > h->presence_cores)
		presence_create(h);
	return h->cores[number];
}

static void level_init(struct level *level, const struct cache_level *given, bool above_victim,
		       unsigned groups)
{
	set_shape_init(&level->shape, given, above_victim);
	level->inclusion = given->inclusion;
	level->sets = given->sets / groups;
	level->power_of_two = !(level->sets & (level->sets - 1));
	level->reciprocal = UINT64_MAX / level->sets + 1;
}

bool levels_create(struct hierarchy *h, const struct geometry *geometry)
{
	for (int i = 0; i < h->n_levels; i++) {
		bool above_victim =
			i + 1 < h->n_levels && geometry->levels[i + 1].inclusion == CACHE_VICTIM;
		level_init(&h->levels[i], &geometry->levels[i], above_victim, h->groups);
		h->n_private += !geometry->levels[i].shared;
	}
	h->levels[0].inclusion = CACHE_NON_INCLUSIVE;
	h->fresh_bytes = sizeof(struct fresh) +
			 geometry->levels[0].ways * sizeof(((struct fresh *)0)->ways[0]);
	for (int i = h->n_private; i < h->n_levels; i++)
		if (!(h->common.sets[i] = allocate_sets(h, &h->levels[i])))
			return false;
	return true;
}

/* Records of zeros are empty.  Whole pages are given back, so that what is touched from now on is
 * known (touched_pages.h): of a large cache a short call touches few. */
static void empty(char *records, size_t size)
{
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = (uintptr_t)records;
	const uintptr_t first = (from + page - 1) / page * page, end = (from + size) / page * page;
	if (size < GIVEN_BACK || madvise((void *)first, end - first, MADV_DONTNEED) != 0) {
		memset(records, 0, size);
		return;
	}
	memset(records, 0, first - from);
	memset((void *)end, 0, from + size - end);
}

static void empty_sets(struct hierarchy *h, const struct core *core, int from, int to)
{
	for (int at = from; at < to; at++)
		empty(core->sets[at],
		      (size_t)h->n_slots * h->levels[at].sets * h->levels[at].shape.bytes);
}

void levels_empty(struct hierarchy *h)
{
	empty_sets(h, &h->common, h->n_private, h->n_levels);
	for (size_t i = 0; i < h->n_cores; i++) {
		if (!h->cores[i])
			continue;
		empty_sets(h, h->cores[i], 0, h->n_private);
		empty(h->cores[i]->fresh, (size_t)h->n_slots * h->levels[0].sets * h->fresh_bytes);
	}
	if (h->presence.counts)
		memset(h->presence.counts, 0,
		       sizeof(*h->presence.counts) << (64 - h->presence.shift));
}

void levels_destroy(struct hierarchy *h)
{
	for (size_t i = 0; i < h->n_cores; i++)
		core_destroy(h, h->cores[i]);
	free(h->cores);
	for (int i = h->n_private; i < h->n_levels; i++)
		free(h->common.sets[i]);
	free(h->presence.counts);
}
