/* Keeps translated code by program, the newest of it within a limit of memory. */
#include "tracer/translate/stock.h"

#include "base/array.h"
#include "base/assert.h"
#include "tracer/translate/inherit.h"

#include <stdlib.h>

#define MIN_BLOCKS 200 /* fewer are made as fast as they are copied */
#define GROWTH 16      /* it is kept anew when it is more by one part in so many */

struct stock {
	struct stocked {
		uint64_t key;
		size_t n_blocks; /* that could run when it was kept */
		struct kept_code *code;
	} * items; /* the one that was used last is the last one */
	size_t n_items, cap_items;
	size_t n_images; /* one alone has nobody to keep anything for */
};

struct stock *stock_create(void)
{
	return calloc(1, sizeof(struct stock));
}

static void drop(struct stock *stock, size_t i)
{
	kept_code_release(stock->items[i].code);
	stock->n_items--;
	memmove(&stock->items[i], &stock->items[i + 1],
		(stock->n_items - i) * sizeof(*stock->items));
}

void stock_destroy(struct stock *stock)
{
	while (stock && stock->n_items)
		drop(stock, stock->n_items - 1);
	if (stock)
		free(stock->items);
	free(stock);
}

/* Its place, or n_items. */
static size_t find(const struct stock *stock, uint64_t key)
{
	size_t i = 0;
	while (i < stock->n_items && stock->items[i].key != key)
		i++;
	return i;
}

static void keep_within_memory(struct stock *stock)
{
	size_t size = 0;
	for (size_t i = stock->n_items; i > 0; i--) {
		size += stock->items[i - 1].code->size;
		if (size > STOCK_MEMORY)
			drop(stock, i - 1);
	}
}

static size_t count_blocks(const struct code_cache *cache)
{
	size_t n = 0;
	for (size_t i = 0; i < cache->n_blocks; i++)
		n += !cache->blocks[i].stale;
	return n;
}

/* What nobody may ever run must not take the room of what will. */
static bool has_spare_room(const struct translator *translator)
{
	const struct code_cache *cache = &translator->cache;
	const struct trace_config *trace = translator->trace;
	for (int i = 0; i < cache->n_arenas; i++)
		if (cache->arenas[i].used > cache->arenas[i].size / 2)
			return false;
	return translator_counters(translator) - cache->n_counters > FIRST_PLAIN_COUNTER / 2 &&
	       (!trace || trace->n_groups < TRACE_GROUP_MAX / 2);
}

void stock_add_image(struct stock *stock)
{
	stock->n_images++;
}

void stock_keep(struct stock *stock, uint64_t key, struct translator *translator)
{
	const size_t n_blocks = count_blocks(&translator->cache), i = find(stock, key);
	const size_t known = i < stock->n_items && inherit_suits(translator, stock->items[i].code)
				     ? stock->items[i].n_blocks
				     : 0;
	assert(key);
	if (stock->n_images < 2 || n_blocks < known + known / GROWTH + MIN_BLOCKS ||
	    !has_spare_room(translator))
		return;
	struct stocked new = {key, n_blocks, kept_code_take(translator)};
	if (!new.code)
		return;
	if (i < stock->n_items)
		drop(stock, i);
	if (!rf_array_push(stock->items, stock->n_items, stock->cap_items, new))
		kept_code_release(new.code);
	keep_within_memory(stock);
}

struct kept_code *stock_find(struct stock *stock, uint64_t key)
{
	const size_t i = find(stock, key);
	if (i == stock->n_items)
		return NULL;
	const struct stocked used = stock->items[i];
	memmove(&stock->items[i], &stock->items[i + 1],
		(stock->n_items - 1 - i) * sizeof(*stock->items));
	stock->items[stock->n_items - 1] = used;
	return kept_code_use(used.code);
}
