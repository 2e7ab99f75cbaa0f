/* Works out what caches of other capacities would have moved, from the stack distances of lines. */
#include "cache/working_set.h"

#include "base/array.h"
#include "base/u64_map.h"
#include "cache/reuse.h"

#include <math.h>
#include <stdlib.h>

#define PER_OCTAVE 8
#define OCTAVES 32
#define N_CAPACITIES (PER_OCTAVE * OCTAVES + 1)

/* What is pending of a line that was written: where it went will be known when it is written again.
 */
struct pending {
	bool changed;
	uint32_t who;
	uint64_t farthest; /* largest distance since, in lines */
};

struct working_set {
	struct reuse *reuse;
	struct pending *pending; /* by slot */
	unsigned n_classes;
	uint64_t capacities[N_CAPACITIES];
	struct working_set_row *rows;
	size_t n_rows, cap_rows;
	struct u64_map row_of; /* who × 2^16 + number of the capacity + 2 */
	uint64_t n_lost;
};

/* ---- Capacities ---- */

static uint64_t capacity_number(unsigned i)
{
	double bytes = WORKING_SET_LEAST * exp2((double)i / PER_OCTAVE);
	return (uint64_t)(bytes / CACHE_LINE) * CACHE_LINE;
}

/* The number of the least capacity that is not below `bytes`; the last when there is none. */
static unsigned find_capacity(const uint64_t *capacities, uint64_t bytes)
{
	if (bytes <= WORKING_SET_LEAST)
		return 0;
	unsigned octave = __builtin_clzll(WORKING_SET_LEAST) - __builtin_clzll(bytes);
	if (octave >= OCTAVES)
		return N_CAPACITIES - 1;
	unsigned i = octave * PER_OCTAVE;
	while (capacities[i] < bytes)
		i++;
	return i;
}

uint64_t working_set_capacity(uint64_t bytes)
{
	for (unsigned i = 0; i < N_CAPACITIES; i++)
		if (capacity_number(i) >= bytes)
			return capacity_number(i);
	return capacity_number(N_CAPACITIES - 1);
}

/* ---- Rows ---- */

/* Counts lines that are read and written at a capacity, by its number; −1: at any. */
static void count_at(struct working_set *ws, uint32_t who, int number, uint64_t reads,
		     uint64_t writes)
{
	uint64_t key = ((uint64_t)who << 16) + number + 2;
	uint32_t *found = u64_map_find(&ws->row_of, key);
	struct working_set_row row = {who, number < 0 ? 0 : ws->capacities[number], reads, writes};
	if (found) {
		ws->rows[*found].reads += reads;
		ws->rows[*found].writes += writes;
	} else if (!rf_array_push(ws->rows, ws->n_rows, ws->cap_rows, row)) {
		ws->n_lost++;
	} else if (!u64_map_set(&ws->row_of, key, ws->n_rows - 1)) {
		ws->n_rows--;
		ws->n_lost++;
	}
}

/* The number of the capacity up to which caches see what happens at `distance` lines. */
static int capacity_of_distance(const struct working_set *ws, uint64_t distance)
{
	uint64_t lines = distance * CACHE_CLASSES / ws->n_classes + 1;
	return find_capacity(ws->capacities, lines * CACHE_LINE);
}

/* ---- Uses ---- */

static void dropped(void *context, uint32_t slot)
{
	struct working_set *ws = context;
	ws->pending[slot].changed = false;
}

/* The line in a slot will be written again, or the run is over: it went to memory, once, in all
 * caches of up to the largest distance. */
static void settle(struct working_set *ws, uint32_t slot)
{
	struct pending *pending = &ws->pending[slot];
	if (!pending->changed || !pending->farthest)
		return;
	count_at(ws, pending->who, capacity_of_distance(ws, pending->farthest), 0,
		 reuse_weight(ws->reuse));
}

/* Follows a use of a line; false: it is not followed. */
static bool use_line(struct working_set *ws, uint64_t line, struct reuse_use *use)
{
	if (!reuse_access(ws->reuse, line, use))
		return false;
	struct pending *pending = &ws->pending[use->slot];
	if (use->first)
		*pending = (struct pending){0};
	else if (use->distance.all > pending->farthest)
		pending->farthest = use->distance.all;
	return true;
}

void working_set_read(struct working_set *ws, uint32_t who, uint64_t line)
{
	struct reuse_use use;
	if (!use_line(ws, line, &use) || (!use.first && !use.distance.all))
		return;
	count_at(ws, who, use.first ? -1 : capacity_of_distance(ws, use.distance.all),
		 reuse_weight(ws->reuse), 0);
}

void working_set_write(struct working_set *ws, uint32_t who, uint64_t line)
{
	struct reuse_use use;
	if (!use_line(ws, line, &use))
		return;
	settle(ws, use.slot);
	ws->pending[use.slot] = (struct pending){.changed = true, .who = who};
}

void working_set_bypass(struct working_set *ws, uint32_t who)
{
	count_at(ws, who, -1, 0, 1);
}

/* The event that brings a line into the last cache for a load; the next two are that for a store,
 * and a write-back. */
static enum traffic last_read(int n_levels)
{
	static const enum traffic reads[] = {TRAFFIC_MEM_READ, TRAFFIC_L2_READ, TRAFFIC_L3_READ};
	return reads[n_levels - 1];
}

void working_set_future(struct working_set *ws, int n_levels, enum traffic event, uint64_t line)
{
	const enum traffic read = last_read(n_levels);
	struct reuse_use use;
	if (event >= read && event <= read + 2)
		(void)use_line(ws, line, &use);
}

void working_set_event(struct working_set *ws, int n_levels, enum traffic event, uint32_t who,
		       uint64_t line)
{
	const enum traffic read = last_read(n_levels);
	if (event == read || event == read + 1) /* + 1: write-allocate */
		working_set_read(ws, who, line);
	else if (event == read + 2) /* write-back */
		working_set_write(ws, who, line);
	else if (event == TRAFFIC_MEM_NON_TEMPORAL)
		working_set_bypass(ws, who);
}

/* ---- All of it ---- */

struct working_set *working_set_create(size_t max_lines, unsigned n_classes)
{
	struct working_set *ws = calloc(1, sizeof(*ws));
	if (!ws)
		return NULL;
	ws->n_classes = n_classes;
	for (unsigned i = 0; i < N_CAPACITIES; i++)
		ws->capacities[i] = capacity_number(i);
	ws->pending = calloc(max_lines, sizeof(*ws->pending));
	ws->reuse = reuse_create(max_lines, 0, dropped, ws);
	if (ws->pending && ws->reuse)
		return ws;
	working_set_destroy(ws);
	return NULL;
}

void working_set_destroy(struct working_set *ws)
{
	if (!ws)
		return;
	reuse_destroy(ws->reuse);
	free(ws->pending);
	free(ws->rows);
	u64_map_deinit(&ws->row_of);
	free(ws);
}

/* The end of the run is a use of each line by nobody. */
static void settle_all(struct working_set *ws)
{
	for (uint32_t slot = 0; slot < reuse_max_lines(ws->reuse); slot++) {
		struct pending *pending = &ws->pending[slot];
		if (!pending->changed)
			continue;
		uint64_t age = reuse_age(ws->reuse, slot).all;
		if (age > pending->farthest)
			pending->farthest = age;
		settle(ws, slot);
		pending->changed = false;
	}
}

void working_set_empty(struct working_set *ws)
{
	settle_all(ws);
	reuse_forget(ws->reuse);
}

void working_set_rows(struct working_set *ws,
		      void (*give)(void *context, const struct working_set_row *row), void *context)
{
	settle_all(ws);
	for (size_t i = 0; i < ws->n_rows; i++) {
		struct working_set_row row = ws->rows[i];
		row.reads = row.reads * CACHE_CLASSES / ws->n_classes;
		row.writes = row.writes * CACHE_CLASSES / ws->n_classes;
		give(context, &row);
	}
}

uint64_t working_set_weight(const struct working_set *ws)
{
	return reuse_weight(ws->reuse);
}

uint64_t working_set_lost(const struct working_set *ws)
{
	return ws->n_lost + reuse_lost(ws->reuse);
}
