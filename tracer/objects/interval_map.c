/* A map from ranges of addresses to values, made for heaps: many small ranges that come and go. */
#include "tracer/objects/interval_map.h"

#include "base/array.h"
#include "base/search.h"

#include <assert.h>
#include <string.h>

#define CHUNK_ITEMS 128

void interval_map_deinit(struct interval_map *map)
{
	for (size_t i = 0; i < map->n_chunks; i++)
		free(map->chunks[i].items);
	free(map->chunks);
}

/* The chunk in which an interval that holds address is, or would be. */
static size_t chunk_of(struct interval_map *map, uint64_t address)
{
	const struct interval_chunk *chunks = map->chunks;
	uint32_t *recent = &map->recent[(address >> 12) % INTERVAL_RECENT], i = *recent;
	if (i < map->n_chunks && (i == 0 || chunks[i].from <= address) &&
	    (i + 1 == map->n_chunks || address < chunks[i + 1].from))
		return i;
	const size_t n = rf_search(map->n_chunks, k, k == 0 || chunks[k].from <= address);
	return *recent = n ? (uint32_t)n - 1 : 0;
}

/* The first of a chunk that ends above address. */
static size_t item_of(const struct interval_chunk *chunk, uint64_t address)
{
	const struct interval *at = chunk->items;
	size_t n = chunk->n;
	for (; n > 1; n -= n / 2) /* without branches */
		at += at[n / 2 - 1].end <= address ? n / 2 : 0;
	return at - chunk->items + (n && at->end <= address);
}

static bool add_chunk(struct interval_map *map, size_t at, uint64_t from)
{
	struct interval *items = malloc(CHUNK_ITEMS * sizeof(*items));
	if (!items || !rf_array_reserve((void **)&map->chunks, map->n_chunks, &map->cap_chunks,
					sizeof(*map->chunks))) {
		free(items);
		return false;
	}
	memmove(&map->chunks[at + 1], &map->chunks[at],
		(map->n_chunks++ - at) * sizeof(*map->chunks));
	map->chunks[at] = (struct interval_chunk){.from = from, .items = items};
	return true;
}

/* Halves a full chunk; where a heap grows, behind its last interval, the old half is the whole. */
static bool split(struct interval_map *map, size_t at, uint64_t address)
{
	const size_t kept =
		item_of(&map->chunks[at], address) == CHUNK_ITEMS ? CHUNK_ITEMS : CHUNK_ITEMS / 2;
	if (!add_chunk(map, at + 1,
		       kept == CHUNK_ITEMS ? address : map->chunks[at].items[kept].start))
		return false;
	struct interval_chunk *old = &map->chunks[at], *new = old + 1;
	new->n = CHUNK_ITEMS - kept;
	memcpy(new->items, old->items + kept, new->n * sizeof(*new->items));
	old->n = kept;
	return true;
}

/* Takes a range out of a chunk, and puts an interval there that has the range (NULL: none).
 * *behind gets what is left behind the range of one that began before it. */
static void replace(struct interval_chunk *chunk, uint64_t start, uint64_t end,
		    const struct interval *new, struct interval *behind)
{
	struct interval *items = chunk->items;
	size_t i = item_of(chunk, start);
	if (i < chunk->n && items[i].start < start) {
		*behind = (struct interval){end, items[i].end, items[i].value};
		items[i++].end = start;
	}
	size_t kept = i;
	while (kept < chunk->n && items[kept].end <= end)
		kept++;
	if (kept < chunk->n && items[kept].start < end)
		items[kept].start = end;
	const size_t behind_new = i + (new != NULL);
	if (kept != behind_new)
		memmove(&items[behind_new], &items[kept], (chunk->n - kept) * sizeof(*items));
	if (new)
		items[i] = *new;
	chunk->n = chunk->n + behind_new - kept;
}

/* Makes room for an interval that begins at start. */
static bool make_room(struct interval_map *map, uint64_t start)
{
	if (map->n_chunks == 0)
		return add_chunk(map, 0, 0);
	const size_t at = chunk_of(map, start);
	return map->chunks[at].n < CHUNK_ITEMS || split(map, at, start);
}

/* Adds an interval whose range is in one chunk, in which there is room. */
static bool insert(struct interval_map *map, struct interval new)
{
	struct interval behind = {0};
	const size_t at = chunk_of(map, new.start);
	struct interval_chunk *chunk = &map->chunks[at];
	assert(chunk->n < CHUNK_ITEMS);
	replace(chunk, new.start, new.end, &new, &behind);
	if (at + 1 < map->n_chunks && chunk[1].from < new.end)
		chunk[1].from = new.end;
	return behind.end <= new.end || (make_room(map, behind.start) && insert(map, behind));
}

bool interval_map_remove(struct interval_map *map, uint64_t start, uint64_t end)
{
	struct interval behind = {0};
	if (start >= end || map->n_chunks == 0)
		return true;
	const size_t first = chunk_of(map, start);
	size_t n = first, at = first;
	for (; at < map->n_chunks && (at == first || map->chunks[at].from < end); at++) {
		replace(&map->chunks[at], start, end, NULL, &behind);
		if (map->chunks[at].n)
			map->chunks[n++] = map->chunks[at];
		else
			free(map->chunks[at].items);
	}
	if (n < at)
		memmove(&map->chunks[n], &map->chunks[at],
			(map->n_chunks - at) * sizeof(*map->chunks));
	map->n_chunks -= at - n;
	return behind.end <= end || (make_room(map, behind.start) && insert(map, behind));
}

bool interval_map_set(struct interval_map *map, uint64_t start, uint64_t end, uint32_t value)
{
	if (start >= end)
		return true;
	/* Splits a chunk: the chunks of the range are looked at behind that. */
	if (!make_room(map, start))
		return false;
	const size_t next = chunk_of(map, start) + 1;
	if (next < map->n_chunks && map->chunks[next].from < end &&
	    (!interval_map_remove(map, start, end) || !make_room(map, start)))
		return false;
	return insert(map, (struct interval){start, end, value});
}

struct interval *interval_map_next(struct interval_map *map, uint64_t address, uint64_t limit)
{
	if (map->n_chunks == 0)
		return NULL;
	const size_t at = chunk_of(map, address);
	struct interval_chunk *chunk = &map->chunks[at];
	const size_t i = item_of(chunk, address);
	struct interval *found = i < chunk->n             ? &chunk->items[i]
				 : at + 1 < map->n_chunks ? chunk[1].items
							  : NULL;
	return found && found->start < limit ? found : NULL;
}

struct interval *interval_map_find(struct interval_map *map, uint64_t address)
{
	return interval_map_next(map, address, address + 1);
}
