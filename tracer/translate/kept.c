/* Keeps batches by the place of their code, and drops the oldest ones; has a batch noted while it
 * is translated, and packs it. */
#include "tracer/translate/kept.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

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

/* Where one more variant of that place can be kept: where there is none, or one of classes that
 * have been traced before.  KEPT_VARIANTS: nowhere. */
static int room_for(const struct kept_place *place, uint64_t classes)
{
	int i = 0;
	while (i < KEPT_VARIANTS && place->variants[i] && place->variants[i]->classes == classes)
		i++;
	return i;
}

static uint64_t classes_of(const struct translator *translator)
{
	return translator->trace ? translator->trace->classes : 0;
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

/* Keeps a batch, which is owned from now on; the oldest ones go when there are too many.  When
 * memory is short it is not kept. */
static void add(struct kept *kept, struct kept_batch *batch)
{
	struct kept_place *place = place_of(kept, batch->place) ?: add_place(kept, batch->place);
	const int i = place ? room_for(place, batch->classes) : KEPT_VARIANTS;
	if (i == KEPT_VARIANTS) {
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

/* ---- notes ---- */

void record_begin(struct translator *translator, struct arena *arena, uint64_t pc, uint64_t key)
{
	struct kept *kept = translator->kept;
	struct code_cache *cache = &translator->cache;
	struct recorder *recorder = NULL;
	if (!kept || kept->n_sharing < 2)
		return;
	const struct kept_place *place = place_of(kept, key);
	if (!place || room_for(place, classes_of(translator)) < KEPT_VARIANTS)
		recorder = kept_recorder(kept);
	if (!recorder)
		return;
	recorder->fits = true;
	recorder->key = key;
	recorder->arena = arena;
	recorder->origin = record_origin(translator, arena, pc);
	recorder->n_pieces = arena->n_pieces;
	recorder->n_units = cache->n_units;
	recorder->n_derived = cache->n_derived;
	recorder->n_entries = translator->n_new_entries;
	recorder->fields.n = recorder->n_ranges = recorder->n_code = recorder->n_look_ups = 0;
	recorder->n_got_jumps = recorder->n_unit_pcs = recorder->n_calls = recorder->n_exclusive =
		0;
	recorder->n_groups = recorder->n_operands = 0;
	recorder->fields.failed = false;
	arena->fields = &recorder->fields;
	translator->recorder = recorder;
}

void record_drop(struct translator *translator)
{
	for (int i = 0; i < translator->cache.n_arenas; i++)
		translator->cache.arenas[i].fields = NULL;
	translator->recorder = NULL;
}

/* A list that goes into the memory of a batch, behind the others. */
struct list {
	void **to;
	const void *items;
	size_t n, size;
};

/* Copies the lists into one piece of memory with the batch. */
static struct kept_batch *pack(const struct kept_batch *batch, struct list *lists, size_t n)
{
	size_t size = sizeof(*batch);
	for (size_t i = 0; i < n; i++)
		size += (lists[i].n * lists[i].size + 7) & ~(size_t)7;
	uint8_t *memory = malloc(size), *at = memory + sizeof(*batch);
	if (!memory)
		return NULL;
	struct kept_batch *packed = (struct kept_batch *)memory;
	for (size_t i = 0; i < n; i++) {
		*lists[i].to = at;
		if (lists[i].n)
			memcpy(at, lists[i].items, lists[i].n * lists[i].size);
		at += (lists[i].n * lists[i].size + 7) & ~(size_t)7;
	}
	memcpy(packed, batch, sizeof(*batch));
	packed->size = size;
	return packed;
}

/* The addresses that the batch refers to, and those of its own code. */
static void find_extent(const struct recorder *recorder, struct kept_batch *batch)
{
	batch->lowest = batch->nearest = UINT64_MAX;
	for (size_t i = 0; i < recorder->n_ranges; i++) {
		const struct code_range *range = &recorder->ranges[i];
		if (range->pc < batch->lowest)
			batch->lowest = range->pc;
		if (range->pc + range->size > batch->highest)
			batch->highest = range->pc + range->size;
	}
	for (size_t i = 0; i < recorder->fields.n; i++) {
		const struct field *field = &recorder->fields.items[i];
		if (field->kind != FIELD_TO_PROGRAM)
			continue;
		if (field->pc < batch->nearest)
			batch->nearest = field->pc;
		if (field->pc > batch->farthest)
			batch->farthest = field->pc;
	}
}

#define LIST(batch, name, from, count)                                                          \
	{                                                                                       \
		(void **)&(batch).name, from, (batch).n_##name = (count), sizeof(*(batch).name) \
	}

static struct kept_batch *keep(const struct recorder *recorder, const struct batch *made,
			       struct kept_batch batch)
{
	const struct code_cache *cache = made->cache;
	const struct arena *arena = made->arena;
	const struct origin *origin = &recorder->origin;
	const size_t entries = made->translator->n_new_entries - recorder->n_entries;
	struct list lists[] = {
		LIST(batch, ranges, recorder->ranges, recorder->n_ranges),
		LIST(batch, code, recorder->code, recorder->n_code),
		LIST(batch, look_ups, recorder->look_ups, recorder->n_look_ups),
		LIST(batch, got_jumps, recorder->got_jumps, recorder->n_got_jumps),
		LIST(batch, bytes, arena->host + origin->start, arena->used - origin->start),
		LIST(batch, fields, recorder->fields.items, recorder->fields.n),
		LIST(batch, pieces, arena->pieces + recorder->n_pieces,
		     arena->n_pieces - recorder->n_pieces),
		LIST(batch, blocks, cache->blocks + origin->block, cache->n_blocks - origin->block),
		LIST(batch, units, cache->units + recorder->n_units,
		     cache->n_units - recorder->n_units),
		LIST(batch, unit_pcs, recorder->unit_pcs, recorder->n_unit_pcs),
		LIST(batch, links, cache->links + origin->link, cache->n_links - origin->link),
		LIST(batch, landings, cache->landings + origin->landing,
		     cache->n_landings - origin->landing),
		LIST(batch, calls, recorder->calls, recorder->n_calls),
		LIST(batch, exclusive, recorder->exclusive, recorder->n_exclusive),
		LIST(batch, derived, cache->derived + recorder->n_derived,
		     cache->n_derived - recorder->n_derived),
		LIST(batch, entries, made->translator->new_entries + recorder->n_entries, entries),
		LIST(batch, groups, recorder->groups, recorder->n_groups),
		LIST(batch, operands, recorder->operands, recorder->n_operands),
	};
	return pack(&batch, lists, sizeof(lists) / sizeof(lists[0]));
}

/* What a slot of the GOT leads to must be no code of the batch itself. */
static bool leads_out(const struct kept_batch *batch, const struct recorder *recorder)
{
	for (size_t i = 0; i < recorder->n_got_jumps; i++) {
		const uint64_t value = recorder->got_jumps[i].value;
		if (value >= batch->lowest && value < batch->highest)
			return false;
	}
	return true;
}

void record_end(struct batch *made, const struct plan *plan, bool with_entry)
{
	struct translator *translator = made->translator;
	const struct recorder *recorder = translator->recorder;
	if (!recorder)
		return;
	record_groups(translator, kept_module(recorder->key));
	record_drop(translator);
	const struct code_cache *cache = made->cache;
	struct kept_batch batch = {
		.origin = recorder->origin,
		.with_entry = with_entry,
		.batch_insns = translator->batch_insns,
		.n_items = plan->n_items,
		.n_counters = cache->n_counters - recorder->origin.counter,
		.n_junctions = cache->n_junctions
				       ? (uint32_t)cache->n_junctions - recorder->origin.junction
				       : 0,
		.n_numbers = (translator->trace ? translator->trace->n_numbers : 0) -
			     recorder->origin.number,
		.is_traced = translator->trace,
		.classes = classes_of(translator),
		.place = recorder->key,
	};
	find_extent(recorder, &batch);
	if (made->failed || !recorder->fits || recorder->fields.failed ||
	    !leads_out(&batch, recorder))
		return;
	struct kept_batch *kept = keep(recorder, made, batch);
	if (kept)
		add(translator->kept, kept);
}
