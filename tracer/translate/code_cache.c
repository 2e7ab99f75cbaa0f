/* Keeps the books of translated code: which block, landing, stub or link is where; and redirects
 * links while threads run through them. */
#include "tracer/translate/code_cache.h"

#include "base/array.h"
#include "base/assert.h"
#include "base/large_memory.h"
#include "tracer/translate/assemble.h"

#include <string.h>

#define ARENA_RESERVE (1 << 20) /* room that one batch can never use up */
#define BYTES_AT_ONCE 32768
#define ARENA_BEGIN 64 /* offset 0 stands for "none"; then the jump at ARENA_TO_RETURN */

void code_cache_add_arena(struct code_cache *cache, uint64_t base, uint8_t *host, size_t size)
{
	assert(cache->n_arenas < MAX_ARENAS && size > ARENA_BEGIN);
	struct arena *arena = &cache->arenas[cache->n_arenas++];
	*arena = (struct arena){.base = base, .host = host, .size = size, .used = ARENA_TO_RETURN};
	arena->is_open = true; /* its first jump belongs to no block, and needs no piece */
	emit_jump_through(arena, gs_at(G_AT_RETURN));
	arena_end_piece(arena);
	arena->used = ARENA_BEGIN;
}

/* Ten bytes by the hundred thousand: each by itself would take three times as many. */
uint8_t *code_cache_bytes(struct code_cache *cache, size_t size)
{
	if (cache->bytes_left < size) {
		const size_t whole = size > BYTES_AT_ONCE ? size : BYTES_AT_ONCE;
		uint8_t *bytes = malloc(whole);
		if (!bytes ||
		    !rf_array_push(cache->bytes, cache->n_bytes, cache->cap_bytes, bytes)) {
			free(bytes);
			return NULL;
		}
		cache->bytes_left = whole;
		cache->bytes_end = bytes + whole;
	}
	cache->bytes_left -= size;
	return cache->bytes_end - cache->bytes_left - size;
}

void code_cache_free_bytes(struct code_cache *cache)
{
	for (size_t i = 0; i < cache->n_bytes; i++)
		free(cache->bytes[i]);
	free(cache->bytes);
	cache->bytes = NULL;
	cache->n_bytes = cache->cap_bytes = cache->bytes_left = 0;
}

void code_cache_put_to_sleep(struct code_cache *cache)
{
	for (size_t i = 0; i < cache->n_blocks; i++) {
		cache->blocks[i].stale = true;
		cache->blocks[i].is_met = false;
	}
}

void code_cache_deinit(struct code_cache *cache)
{
	code_cache_free_bytes(cache);
	for (int i = 0; i < cache->n_arenas; i++) {
		piece_list_deinit(&cache->arenas[i].pieces);
		large_free(cache->arenas[i].fields);
	}
	large_free(cache->landings);
	large_free(cache->blocks);
	free(cache->units);
	large_free(cache->links);
	large_free(cache->stubs);
	large_free(cache->crossings);
	large_free(cache->derived);
	large_free(cache->leaving);
	u64_map_deinit(&cache->block_of_pc.own);
	u64_map_deinit(&cache->links_to.own);
	u64_map_deinit(&cache->landing_of_pc.own);
	u64_map_deinit(&cache->calls.own);
	memset(cache, 0, sizeof(*cache));
}

uint32_t code_cache_find(const struct code_cache *cache, const struct pc_index *index, uint64_t pc)
{
	const uint32_t *number = u64_map_find(&index->own, pc);
	for (size_t i = 0; !number && index->lent && i < cache->n_awake; i++)
		if (pc >= cache->awake[i].start && pc < cache->awake[i].end)
			number = u64_map_find(index->lent, pc - cache->awake[i].moved);
	return number ? *number : NOT_THERE;
}

bool pc_index_set(struct pc_index *index, uint64_t pc, uint32_t number)
{
	return u64_map_set(&index->own, pc, number);
}

/* What is lent stays as it is, and is hidden. */
bool pc_index_remove(struct pc_index *index, uint64_t pc)
{
	if (index->lent)
		return u64_map_set(&index->own, pc, NOT_THERE);
	u64_map_remove(&index->own, pc);
	return true;
}

struct code_block *code_cache_block(struct code_cache *cache, uint64_t pc)
{
	const uint32_t index = code_cache_find(cache, &cache->block_of_pc, pc);
	return index != NOT_THERE ? &cache->blocks[index] : NULL;
}

bool code_cache_is_unmet(struct code_cache *cache, uint64_t pc)
{
	const struct code_block *block = code_cache_block(cache, pc);
	return block && !block->is_met;
}

struct landing *code_cache_landing(struct code_cache *cache, uint64_t pc)
{
	const uint32_t index = code_cache_find(cache, &cache->landing_of_pc, pc);
	return index != NOT_THERE ? &cache->landings[index] : NULL;
}

bool code_cache_cell_has(const struct code_cache *cache, uint64_t pc, bool keeps_flags)
{
	for (uint32_t i = cache->landing_of_cell[pc & 0xffff]; i; i = cache->landings[i - 1].next)
		if (cache->landings[i - 1].keeps_flags == keeps_flags &&
		    cache->landings[i - 1].pc != pc)
			return true;
	return false;
}

static uint64_t distance(const struct arena *arena, uint64_t pc)
{
	return pc > arena->base ? pc - arena->base : arena->base - pc;
}

struct arena *code_cache_arena(struct code_cache *cache, uint64_t pc)
{
	struct arena *best = NULL;
	for (int i = 0; i < cache->n_arenas; i++)
		if (!best || distance(&cache->arenas[i], pc) < distance(best, pc))
			best = &cache->arenas[i];
	return best && code_cache_has_room(best) ? best : NULL;
}

bool code_cache_has_room(const struct arena *arena)
{
	return arena->used + ARENA_RESERVE < arena->size;
}

struct arena *code_cache_arena_at(const struct code_cache *cache, uint64_t address)
{
	for (int i = 0; i < cache->n_arenas; i++)
		if (address - cache->arenas[i].base < cache->arenas[i].size)
			return (struct arena *)&cache->arenas[i];
	return NULL;
}

uint64_t code_cache_pc_of_body(const struct code_cache *cache, uint64_t address)
{
	for (size_t i = 0; i < cache->n_blocks; i++) {
		const struct code_block *block = &cache->blocks[i];
		if (block->body &&
		    arena_address(&cache->arenas[block->arena], block->body) == address)
			return block->pc;
	}
	return 0;
}

bool code_cache_piece(const struct code_cache *cache, uint64_t address, struct piece *piece)
{
	const struct arena *arena = code_cache_arena_at(cache, address);
	return arena && arena_piece_at(arena, address - arena->base, piece);
}

struct rf_error *code_cache_add_link(struct code_cache *cache, const struct link *link)
{
	struct link new = *link;
	new.next = code_cache_find(cache, &cache->links_to, link->target);
	const bool ok =
		rf_array_push(cache->links, cache->n_links, cache->cap_links, new) &&
		pc_index_set(&cache->links_to, link->target, (uint32_t)(cache->n_links - 1));
	return ok ? NULL : rf_error_no_memory();
}

/* Stores a rel32 as one aligned 8-byte word, so that a thread that fetches it sees the old or the
 * new one (Intel SDM 8.1.1, AMD APM 7.3.2). */
static void store_in_word(uint8_t *field, int32_t rel)
{
	uint64_t *word = (uint64_t *)((uintptr_t)field & ~(uintptr_t)7), value = *word;
	memcpy((uint8_t *)&value + ((uintptr_t)field & 7), &rel, sizeof(rel));
	__atomic_store_n(word, value, __ATOMIC_RELEASE);
}

static void aim_site(struct arena *arena, uint32_t site, uint32_t destination, bool quiet)
{
	uint8_t *field = arena->host + site;
	int32_t rel = (int32_t)((int64_t)destination - (int64_t)(site + 4));
	if (((uintptr_t)field & 7) <= 4)
		store_in_word(field, rel);
	else if (quiet)
		memcpy(field, &rel, sizeof(rel));
}

/* Turns the head of a stub into a jump.  Its first instruction is longer than 8 bytes, so a
 * thread already inside the stub is behind the bytes that change. */
static void aim_stub(struct arena *arena, uint32_t head, uint32_t destination)
{
	uint64_t value;
	memcpy(&value, arena->host + head, sizeof(value));
	int32_t rel = (int32_t)((int64_t)destination - (int64_t)(head + 5));
	((uint8_t *)&value)[0] = 0xe9;
	memcpy((uint8_t *)&value + 1, &rel, sizeof(rel));
	__atomic_store_n((uint64_t *)(arena->host + head), value, __ATOMIC_RELEASE);
}

/* The next link, from number `i` on, of a kind and junction in `arena`; NOT_THERE: none. */
static uint32_t next_link(const struct code_cache *cache, const struct arena *arena, uint32_t i,
			  enum link_kind kind, uint32_t junction)
{
	while (i != NOT_THERE &&
	       (&cache->arenas[cache->links[i].arena] != arena || cache->links[i].kind != kind ||
		cache->links[i].junction != junction))
		i = cache->links[i].next;
	return i;
}

static uint32_t first_link(const struct code_cache *cache, const struct arena *arena, uint64_t pc,
			   enum link_kind kind, uint32_t junction)
{
	const uint32_t first = code_cache_find(cache, &cache->links_to, pc);
	return next_link(cache, arena, first, kind, junction);
}

bool code_cache_has_links(const struct code_cache *cache, const struct arena *arena, uint64_t pc,
			  enum link_kind kind, uint32_t junction)
{
	return first_link(cache, arena, pc, kind, junction) != NOT_THERE;
}

void code_cache_aim_links(struct code_cache *cache, struct arena *arena, uint64_t pc,
			  enum link_kind kind, uint32_t junction, uint32_t destination, bool quiet)
{
	for (uint32_t i = first_link(cache, arena, pc, kind, junction); i != NOT_THERE;
	     i = next_link(cache, arena, cache->links[i].next, kind, junction)) {
		const struct link *link = &cache->links[i];
		if (link->is_stub && link->site != destination)
			aim_stub(arena, link->site, destination);
		else if (!link->is_stub)
			aim_site(arena, link->site, destination, quiet);
	}
}
