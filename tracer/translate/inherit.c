/* Copies kept code into a translator, and moves each module's part of it to where the module is in
 * this process. */
#include "tracer/translate/inherit.h"

#include "base/array.h"
#include "base/assert.h"
#include "base/large_memory.h"
#include "tracer/translate/batch.h"
#include "tracer/translate/landing.h"

#include <string.h>

#define PAGE 4096
/* Code for addresses below has immediates in the place of fields (landing.c, transfer.c). */
#define LOW_ADDRESSES (1ull << 32)
#define IMPOSSIBLE UINT32_MAX /* half of an address that is none */

struct inherited {
	struct kept_code *from;
	bool tried[KEPT_MODULES]; /* to be woken up, once */
	size_t n_asleep;          /* that were not tried */
};

/* ---- all at once ---- */

bool inherit_suits(const struct translator *translator, const struct kept_code *kept)
{
	const struct trace_config *trace = translator->trace;
	const struct code_cache *cache = &translator->cache;
	bool suits = cache->n_arenas == kept->cache.n_arenas &&
		     translator->batch_insns == kept->batch_insns &&
		     translator->is_plain == kept->is_plain && kept->is_traced == !!trace &&
		     (!trace || (trace->classes == UINT64_MAX) == kept->traces_all);
	for (int i = 0; suits && i < cache->n_arenas; i++)
		suits = cache->arenas[i].size == kept->cache.arenas[i].size;
	return suits;
}

/* A copy of n items with room for some more; *n becomes 0 when memory is short. */
static bool copy_list(void **to, size_t *n, size_t *cap, const void *from, size_t size)
{
	*cap = *n + *n / 8 + 16;
	*to = large_malloc(*cap * size);
	if (*to && *n)
		memcpy(*to, from, *n * size);
	*n = *to ? *n : 0;
	*cap = *to ? *cap : 0;
	return *to;
}
#define COPY(to, from, items, n, cap)                                                \
	((to)->n = (from)->n, copy_list((void **)&(to)->items, &(to)->n, &(to)->cap, \
					(from)->items, sizeof(*(to)->items)))

/* Where memory runs short, what refers to others is not there either (derive_executions). */
static bool copy_lists(struct code_cache *to, const struct code_cache *from)
{
	to->block_of_pc.lent = &from->block_of_pc.own;
	to->links_to.lent = &from->links_to.own;
	to->landing_of_pc.lent = &from->landing_of_pc.own;
	to->calls.lent = &from->calls.own;
	to->n_counters = from->n_counters;
	to->block_counters = from->block_counters;
	to->n_inherited = from->n_blocks;
	return COPY(to, from, leaving, n_junctions, cap_leaving) &&
	       COPY(to, from, blocks, n_blocks, cap_blocks) &&
	       COPY(to, from, crossings, n_crossings, cap_crossings) &&
	       COPY(to, from, derived, n_derived, cap_derived) &&
	       COPY(to, from, units, n_units, cap_units) &&
	       COPY(to, from, links, n_links, cap_links) &&
	       COPY(to, from, stubs, n_stubs, cap_stubs) &&
	       COPY(to, from, landings, n_landings, cap_landings);
}

static void add_64(uint8_t *at, uint64_t n)
{
	uint64_t value;
	memcpy(&value, at, sizeof(value));
	value += n;
	memcpy(at, &value, sizeof(value));
}

static void set_32(uint8_t *at, uint64_t value)
{
	const uint32_t half = (uint32_t)value;
	memcpy(at, &half, sizeof(half));
}

/* Addresses in arenas move at once.  What compares an address of the program with one of a module
 * that sleeps never finds them equal. */
static void settle_arena(const struct code_cache *cache, const struct code_cache *from, int number)
{
	const struct arena *arena = &cache->arenas[number];
	for (size_t i = 0; i < arena->n_fields; i++) {
		const struct field *field = &arena->fields[i];
		uint8_t *at = arena->host + field->at;
		if (field->kind == FIELD_PC_LOW || field->kind == FIELD_PC_HIGH ||
		    field->kind == FIELD_PC_MIDDLE)
			set_32(at, IMPOSSIBLE);
		uint64_t there;
		for (int k = 0; k < from->n_arenas && field->kind == FIELD_IN_ARENA; k++) {
			memcpy(&there, at, sizeof(there));
			if (there - from->arenas[k].base >= from->arenas[k].size)
				continue;
			add_64(at, cache->arenas[k].base - from->arenas[k].base);
			break;
		}
	}
}

static bool copy_arena(struct code_cache *cache, const struct code_cache *from, int number)
{
	struct arena *to = &cache->arenas[number];
	const struct arena *arena = &from->arenas[number];
	assert(!to->pieces.n && to->used <= arena->used);
	memcpy(to->host, arena->host, arena->used);
	to->used = arena->used;
	to->constants = arena->constants;
	to->lent = arena->pieces;
	return COPY(to, arena, fields, n_fields, cap_fields);
}

void inherit_all(struct translator *translator, struct kept_code *kept)
{
	struct code_cache *cache = &translator->cache;
	assert(!cache->n_blocks && !cache->n_stubs && !translator->inherited);
	if (!inherit_suits(translator, kept))
		return;
	struct inherited *inherited = calloc(1, sizeof(*inherited));
	if (!inherited)
		return;
	translator->inherited = inherited;
	inherited->from = kept_code_use(kept);
	inherited->n_asleep = kept->n_modules;
	bool ok = copy_lists(cache, &kept->cache);
	for (int i = 0; i < cache->n_arenas && ok; i++)
		ok = copy_arena(cache, &kept->cache, i);
	for (int i = 0; i < cache->n_arenas && ok; i++)
		settle_arena(cache, &kept->cache, i);
	if (translator->trace && ok)
		ok = trace_config_lend(translator->trace, kept->groups, (uint32_t)kept->n_groups,
				       kept->n_numbers);
	translator->failed |= !ok;
}

void inherit_end(struct translator *translator)
{
	if (translator->inherited)
		kept_code_release(translator->inherited->from);
	free(translator->inherited);
	translator->inherited = NULL;
}

void inherit_tell_row(const struct translator *translator, const struct code_block *block)
{
	const size_t i = (size_t)(block - translator->cache.blocks);
	if (!translator->inherited || i >= translator->cache.n_inherited)
		return;
	struct code_block *kept = &translator->inherited->from->cache.blocks[i];
	if (kept->has_row)
		return;
	kept->row = block->row;
	kept->has_row = block->has_row;
}

/* ---- module by module ---- */

/* A module that wakes up. */
struct waking {
	struct translator *translator;
	const struct kept_code *kept;
	size_t module;
	uint64_t moved; /* to the module's place here; round the end of the numbers */
	bool failed;
};

#define FOR_EACH(i, by, module)                  \
	for (size_t k_ = (by)->begin[module], i; \
	     k_ < (by)->begin[(module) + 1] && (i = (by)->numbers[k_], true); k_++)

static bool is_in_reach(const struct waking *waking)
{
	const struct kept_module *module = &waking->kept->modules[waking->module];
	const struct code_cache *cache = &waking->translator->cache;
	for (int i = 0; i < cache->n_arenas; i++) {
		const uint64_t apart = waking->moved -
				       (cache->arenas[i].base - waking->kept->cache.arenas[i].base);
		const int64_t first = module->reach[i].first + (int64_t)apart;
		const int64_t last = module->reach[i].last + (int64_t)apart;
		if (module->reach[i].first <= module->reach[i].last &&
		    (first != (int32_t)first || last != (int32_t)last))
			return false;
	}
	return true;
}

static bool can_move(const struct waking *waking)
{
	const uint64_t low = waking->kept->modules[waking->module].low;
	return !waking->moved || (waking->moved % PAGE == 0 && low >= LOW_ADDRESSES &&
				  low + waking->moved >= LOW_ADDRESSES);
}

/* Whether all code that the module's blocks were translated from, and what is near it, is here. */
static bool is_same_code(const struct waking *waking)
{
	const struct code_source *source = &waking->translator->source;
	const struct by_module *by = &waking->kept->of_runs;
	const char *ignored;
	uint8_t bytes[PAGE];
	for (size_t r = by->begin[waking->module]; r < by->begin[waking->module + 1]; r++) {
		const struct kept_run *run = &waking->kept->runs[r];
		for (uint32_t done = 0; done < run->size; done += PAGE)
			if (source->read(source->context, run->start + waking->moved + done, bytes,
					 PAGE, &ignored) < PAGE ||
			    memcmp(bytes, waking->kept->code + run->at + done, PAGE) != 0)
				return false;
	}
	return true;
}

static void move_fields(const struct waking *waking, int number)
{
	const struct arena *arena = &waking->translator->cache.arenas[number];
	const uint64_t moved = waking->moved;
	const uint64_t apart = moved - (arena->base - waking->kept->cache.arenas[number].base);
	FOR_EACH(i, &waking->kept->of_fields[number], waking->module)
	{
		struct field *field = &arena->fields[i];
		uint8_t *at = arena->host + field->at;
		uint32_t distance;
		field->pc += moved;
		switch ((enum field_kind)field->kind) {
		case FIELD_TO_MODULE:
			memcpy(&distance, at, sizeof(distance));
			set_32(at, distance + apart);
			break;
		case FIELD_IN_MODULE:
		case FIELD_PC:
			add_64(at, moved);
			break;
		case FIELD_MINUS_PC:
			add_64(at, -moved);
			break;
		case FIELD_PC_LOW:
			set_32(at, field->pc);
			break;
		case FIELD_PC_HIGH:
			set_32(at, field->pc >> 32);
			break;
		case FIELD_PC_MIDDLE:
			set_32(at, field->pc >> 16);
			break;
		case FIELD_IN_ARENA:
			break;
		}
	}
}

static void add_entries(struct waking *waking)
{
	struct translator *translator = waking->translator;
	FOR_EACH(i, &waking->kept->of_entries, waking->module)
	{
		const struct kept_entry *kept = &waking->kept->entries[i];
		const struct new_entry entry = {
			.key = (kept->pc + waking->moved) | (kept->is_return ? RETURN_KEY : 0),
			.entry = arena_address(&translator->cache.arenas[kept->arena], kept->at),
		};
		waking->failed |= !rf_array_push(translator->new_entries, translator->n_new_entries,
						 translator->cap_new_entries, entry);
	}
}

/* What is known of the module is found from now on. */
static void awaken(const struct waking *waking)
{
	const struct kept_module *module = &waking->kept->modules[waking->module];
	struct code_cache *cache = &waking->translator->cache;
	const uint64_t low = module->low + waking->moved, high = module->high + waking->moved;
	cache->awake[cache->n_awake++] = (struct awake_module){low, high, waking->moved};
	if (low < cache->lowest || !cache->lowest)
		cache->lowest = low;
	if (high > cache->highest)
		cache->highest = high;
}

/* Links from code that was translated here while the module slept come before those of the code
 * that was inherited. */
static void join_links(const struct waking *waking)
{
	const struct awake_module *module =
		&waking->translator->cache.awake[waking->translator->cache.n_awake - 1];
	const struct code_cache *cache = &waking->translator->cache;
	const size_t n_inherited = waking->kept->cache.n_links;
	for (size_t i = n_inherited; i < cache->n_links; i++) {
		struct link *last = &cache->links[i];
		const uint64_t pc = last->target;
		const uint32_t *lent =
			pc >= module->start && pc < module->end
				? u64_map_find(cache->links_to.lent, pc - module->moved)
				: NULL;
		while (lent && last->next != NOT_THERE && last->next >= n_inherited)
			last = &cache->links[last->next];
		if (lent)
			last->next = *lent;
	}
}

static void wake_blocks(struct waking *waking)
{
	struct code_cache *cache = &waking->translator->cache;
	FOR_EACH(i, &waking->kept->of_blocks, waking->module)
	{
		struct code_block *block = &cache->blocks[i];
		block->pc += waking->moved;
		block->stale = false;
	}
	FOR_EACH(i, &waking->kept->of_links, waking->module)
	cache->links[i].target += waking->moved;
	FOR_EACH(i, &waking->kept->of_stubs, waking->module)
	cache->stubs[i].pc += waking->moved;
}

static void wake_landings(struct waking *waking)
{
	struct code_cache *cache = &waking->translator->cache;
	FOR_EACH(i, &waking->kept->of_landings, waking->module)
	{
		struct landing *landing = &cache->landings[i];
		landing->pc += waking->moved;
		uint32_t *at = &cache->landing_of_cell[landing->pc & 0xffff];
		while (*at > i + 1) /* the newest one comes first */
			at = &cache->landings[*at - 1].next;
		landing->next = *at;
		*at = (uint32_t)i + 1;
	}
}

/* In cells that landings share now, none may change the flags where they matter to one of them. */
static void part_landings(struct waking *waking)
{
	struct code_cache *cache = &waking->translator->cache;
	struct batch batch;
	if (!cache->n_arenas)
		return;
	batch_open(&batch, waking->translator, &cache->arenas[0], NO_BLOCK);
	FOR_EACH(i, &waking->kept->of_landings, waking->module)
	{
		const struct landing *landing = &cache->landings[i];
		if (code_cache_cell_has(cache, landing->pc, !landing->keeps_flags))
			batch_push(&batch, batch.exclusive, batch.n_exclusive, batch.cap_exclusive,
				   landing->pc);
	}
	emit_replaced_landings(&batch);
	waking->failed |= !batch_close(&batch);
}

static size_t module_asleep(const struct inherited *inherited, uint32_t module)
{
	for (size_t i = 0; i < inherited->from->n_modules; i++)
		if (inherited->from->modules[i].module == module && !inherited->tried[i])
			return i;
	return KEPT_MODULES;
}

/* Fields of code that other threads run are written only where nobody can run it. */
bool inherit_module(struct translator *translator, uint64_t pc)
{
	struct inherited *inherited = translator->inherited;
	const struct code_source *source = &translator->source;
	const char *ignored;
	uint32_t module;
	uint64_t offset;
	uint8_t byte;
	if (!inherited || !inherited->n_asleep || !translator->quiet ||
	    !source->read(source->context, pc, &byte, 1, &ignored))
		return false;
	source->locate(source->context, pc, &module, &offset);
	struct waking waking = {translator, inherited->from, module_asleep(inherited, module), 0,
				false};
	if (waking.module == KEPT_MODULES)
		return false;
	waking.moved = pc - offset - waking.kept->modules[waking.module].bias;
	inherited->tried[waking.module] = true;
	inherited->n_asleep--;
	if (!can_move(&waking) || !is_in_reach(&waking) || !is_same_code(&waking))
		return false;
	for (int i = 0; i < translator->cache.n_arenas; i++)
		move_fields(&waking, i);
	awaken(&waking);
	join_links(&waking);
	wake_blocks(&waking);
	wake_landings(&waking);
	add_entries(&waking);
	part_landings(&waking);
	translator->failed |= waking.failed;
	return true;
}
