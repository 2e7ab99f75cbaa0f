/* Keeps translated code by program, the newest of it within a limit of memory. */
#include "tracer/stock/stock.h"

#include "base/array.h"
#include "base/assert.h"
#include "insn/decode.h"
#include "tracer/stock/code_file.h"
#include "tracer/stock/code_origin.h"
#include "tracer/translate/inherit.h"

#include <stdlib.h>

#define MIN_BLOCKS 200 /* fewer are made as fast as they are copied */
#define GROWTH 16      /* it is kept anew when it is more by one part in so many */

struct stocked {
	uint64_t program;
	enum kept_kind kind;
	size_t n_blocks;        /* that could run when it was kept */
	struct kept_code *code; /* NULL: there was none in a file, either */
	bool is_new;            /* in no file */
	bool in_files;          /* it is for later runs, too */
	bool is_named;          /* can be saved */
	struct code_names names;
};

struct stock {
	struct stocked *items; /* the one that was used last is the last one */
	size_t n_items, cap_items;
	struct code_origin *programs;
	size_t n_programs, cap_programs;
	size_t n_images; /* one alone has nobody to keep anything for, but later runs */
	struct kept_store *store;
	char *maker; /* NULL: there is no store */
	struct profile *profile;
};

struct stock *stock_create(struct kept_store *store, struct profile *profile)
{
	struct stock *stock = calloc(1, sizeof(*stock));
	if (!stock)
		return NULL;
	stock->maker = store ? code_maker() : NULL;
	stock->store = stock->maker ? store : NULL;
	stock->profile = profile;
	return stock;
}

static void drop(struct stock *stock, size_t i)
{
	kept_code_release(stock->items[i].code);
	code_names_deinit(&stock->items[i].names);
	stock->n_items--;
	memmove(&stock->items[i], &stock->items[i + 1],
		(stock->n_items - i) * sizeof(*stock->items));
}

void stock_destroy(struct stock *stock)
{
	if (!stock)
		return;
	while (stock->n_items)
		drop(stock, stock->n_items - 1);
	for (size_t i = 0; i < stock->n_programs; i++)
		code_origin_deinit(&stock->programs[i]);
	free(stock->programs);
	free(stock->maker);
	free(stock->items);
	free(stock);
}

/* ---- programs ---- */

uint64_t stock_program(struct stock *stock, pid_t pid)
{
	struct code_origin origin;
	if (!code_origin_of_process(&origin, pid))
		return 0;
	const uint64_t program = origin.program;
	for (size_t i = 0; i < stock->n_programs; i++)
		if (stock->programs[i].program == program) {
			code_origin_deinit(&origin);
			return program;
		}
	if (rf_array_push(stock->programs, stock->n_programs, stock->cap_programs, origin))
		return program;
	code_origin_deinit(&origin);
	return 0;
}

/* Under which key the code is kept between runs; false: it is not. */
static bool key_of(const struct stock *stock, uint64_t program, enum kept_kind kind,
		   struct kept_key *key)
{
	for (size_t i = 0; stock->store && i < stock->n_programs; i++)
		if (stock->programs[i].program == program)
			return code_origin_key(&stock->programs[i], stock->maker, kind, key);
	return false;
}

static enum kept_kind kind_of(const struct translator *translator)
{
	if (translator->is_plain)
		return KEPT_CODE_PLAIN;
	if (!translator->trace)
		return KEPT_CODE;
	return translator->trace->classes == UINT64_MAX ? KEPT_CODE_TRACED_ALL : KEPT_CODE_TRACED;
}

/* ---- in memory ---- */

/* Its place, or n_items. */
static size_t find(const struct stock *stock, uint64_t program, enum kept_kind kind)
{
	size_t i = 0;
	while (i < stock->n_items &&
	       (stock->items[i].program != program || stock->items[i].kind != kind))
		i++;
	return i;
}

static void keep_within_memory(struct stock *stock)
{
	size_t size = 0;
	for (size_t i = stock->n_items; i > 0; i--) {
		size += stock->items[i - 1].code ? stock->items[i - 1].code->size : 0;
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

bool stock_has_one_image(const struct stock *stock)
{
	return stock->n_images == 1;
}

static void add(struct stock *stock, const struct stocked *new)
{
	const size_t i = find(stock, new->program, new->kind);
	if (i < stock->n_items)
		drop(stock, i);
	if (!rf_array_push(stock->items, stock->n_items, stock->cap_items, *new))
		kept_code_release(new->code);
	keep_within_memory(stock);
}

void stock_keep(struct stock *stock, uint64_t program, struct translator *translator, bool in_files,
		bool is_last)
{
	const enum kept_kind kind = kind_of(translator);
	const size_t n_blocks = count_blocks(&translator->cache), i = find(stock, program, kind);
	const struct kept_code *code = i < stock->n_items ? stock->items[i].code : NULL;
	const size_t known = code && inherit_suits(translator, code) ? stock->items[i].n_blocks : 0;
	assert(program);
	if ((stock->n_images < 2 && !(stock->store && in_files)) ||
	    n_blocks < known + known / GROWTH + MIN_BLOCKS || !has_spare_room(translator))
		return;
	const struct stocked new = {.program = program,
				    .kind = kind,
				    .n_blocks = n_blocks,
				    .code = kept_code_take(translator, is_last),
				    .is_new = true,
				    .in_files = in_files};
	if (new.code)
		add(stock, &new);
}

/* ---- between runs ---- */

/* Looks into the file, once. */
static void load(struct stock *stock, uint64_t program, enum kept_kind kind)
{
	struct stocked new = {.program = program, .kind = kind};
	struct kept_key key;
	struct kept_bytes file;
	bool broken = false;
	if (!key_of(stock, program, kind, &key))
		return;
	if (kept_store_open(stock->store, &key, &file)) {
		new.code = code_file_read(&file, stock->profile, &broken);
		if (broken)
			kept_store_is_broken(stock->store, &key);
		new.n_blocks = new.code ? new.code->of_blocks.begin[KEPT_MODULES] : 0;
	}
	add(stock, &new);
}

struct kept_code *stock_find(struct stock *stock, uint64_t program,
			     const struct translator *translator, bool in_files)
{
	const enum kept_kind kind = kind_of(translator);
	if (in_files && find(stock, program, kind) == stock->n_items)
		load(stock, program, kind);
	const size_t i = find(stock, program, kind);
	if (i == stock->n_items)
		return NULL;
	const struct stocked used = stock->items[i];
	memmove(&stock->items[i], &stock->items[i + 1],
		(stock->n_items - 1 - i) * sizeof(*stock->items));
	stock->items[stock->n_items - 1] = used;
	return kept_code_use(used.code);
}

void stock_close(struct stock *stock)
{
	for (size_t i = 0; i < stock->n_items && stock->store; i++) {
		struct stocked *item = &stock->items[i];
		item->is_named = item->is_new && item->in_files &&
				 code_names_take(&item->names, item->code, stock->profile);
	}
}

void stock_save(struct stock *stock)
{
	for (size_t i = 0; i < stock->n_items && stock->store; i++) {
		const struct stocked *item = &stock->items[i];
		struct kept_key key;
		size_t n;
		if (!item->is_named || !key_of(stock, item->program, item->kind, &key))
			continue;
		struct kept_piece *pieces = code_file_pieces(item->code, &item->names, &n);
		if (pieces)
			kept_store_save_pieces(stock->store, &key, pieces, n);
		free(pieces);
	}
}
