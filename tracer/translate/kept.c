/* Keeps batches by the place of their code, and drops the oldest ones. */
#include "tracer/translate/kept.h"

#include "base/array.h"

#include <stdlib.h>

#define OFFSET_BITS 40 /* of a key; the module is above */

struct kept *kept_create(void)
{
	return calloc(1, sizeof(struct kept));
}

static struct kept_place *place_of(const struct kept *kept, uint64_t key)
{
	const uint32_t *index = key ? u64_map_find(&kept->index_of_place, key) : NULL;
	return index ? &kept->places[*index] : NULL;
}

static void drop_oldest(struct kept *kept)
{
	struct kept_batch *batch = kept->oldest;
	struct kept_place *place = place_of(kept, batch->place);
	int kept_of_place = 0;
	for (int i = 0; i < KEPT_VARIANTS; i++)
		if (place->variants[i] && place->variants[i] != batch)
			place->variants[kept_of_place++] = place->variants[i];
	while (kept_of_place < KEPT_VARIANTS)
		place->variants[kept_of_place++] = NULL;
	kept->oldest = batch->newer;
	if (!kept->oldest)
		kept->newest = NULL;
	kept->size -= batch->size;
	free(batch);
}

void kept_destroy(struct kept *kept)
{
	if (!kept)
		return;
	while (kept->oldest)
		drop_oldest(kept);
	u64_map_deinit(&kept->index_of_place);
	free(kept->places);
	recorder_destroy(kept->recorder);
	free(kept);
}

struct recorder *kept_recorder(struct kept *kept)
{
	if (!kept->recorder)
		kept->recorder = calloc(1, sizeof(*kept->recorder));
	return kept->recorder;
}

uint64_t kept_key(uint32_t module, uint64_t offset)
{
	const uint64_t above = module + 1ull;
	if (offset >> OFFSET_BITS || above >> (64 - OFFSET_BITS))
		return 0;
	return above << OFFSET_BITS | offset;
}

uint32_t kept_module(uint64_t key)
{
	return (uint32_t)((key >> OFFSET_BITS) - 1);
}

uint64_t kept_offset(uint64_t key)
{
	return key & ((1ull << OFFSET_BITS) - 1);
}

struct kept_place *kept_find(const struct kept *kept, uint64_t key)
{
	return place_of(kept, key);
}

bool kept_has_room(const struct kept *kept, uint64_t key)
{
	const struct kept_place *place = place_of(kept, key);
	return key && (!place || !place->variants[KEPT_VARIANTS - 1]);
}

static struct kept_place *add_place(struct kept *kept, uint64_t key)
{
	const struct kept_place empty = {0};
	if (!rf_array_push(kept->places, kept->n_places, kept->cap_places, empty))
		return NULL;
	if (!u64_map_set(&kept->index_of_place, key, (uint32_t)(kept->n_places - 1)))
		return NULL;
	return &kept->places[kept->n_places - 1];
}

void kept_add(struct kept *kept, struct kept_batch *batch)
{
	struct kept_place *place = place_of(kept, batch->place) ?: add_place(kept, batch->place);
	int i = 0;
	while (place && i < KEPT_VARIANTS && place->variants[i])
		i++;
	if (!place || i == KEPT_VARIANTS) {
		free(batch);
		return;
	}
	place->variants[i] = batch;
	batch->newer = NULL;
	*(kept->newest ? &kept->newest->newer : &kept->oldest) = batch;
	kept->newest = batch;
	kept->size += batch->size;
	while (kept->size > KEPT_MEMORY)
		drop_oldest(kept);
}
