/* Makes a copy of a code cache that does not need the process it was made for, and finds out which
 * module each part of it belongs to. */
#include "tracer/translate/kept_code.h"

#include "base/array.h"
#include "base/assert.h"
#include "base/search.h"
#include "base/sort_by.h"

#include <string.h>

#define PAGE 4096ull

/* While it is taken. */
struct taking {
	struct kept_code *kept;
	struct translator *translator;
	bool moves; /* the translator's lists become those that are kept */
	uint8_t *module_of_block;
};

/* A copy of n items; NULL where there are none. */
static void *copy_of(struct kept_code *kept, const void *items, size_t n, size_t size)
{
	void *copy = n ? malloc(n * size) : NULL;
	if (copy)
		memcpy(copy, items, n * size);
	kept->failed |= n && !copy;
	return copy;
}

/* The list itself without the room for more items that it had, or a copy. */
static void *take_list(const struct taking *taking, void *items, size_t n, size_t size)
{
	taking->kept->size += n * size;
	if (!taking->moves)
		return copy_of(taking->kept, items, n, size);
	void *shorter = realloc(items, n * size + 1);
	return shorter ? shorter : items;
}
#define TAKE(taking, to, from, items, n, cap)                                                      \
	do {                                                                                       \
		(to)->items = take_list(taking, (from)->items, (from)->n, sizeof(*(from)->items)); \
		(to)->n = (from)->n;                                                               \
		if ((taking)->moves) {                                                             \
			(from)->items = NULL;                                                      \
			(from)->n = (from)->cap = 0;                                               \
		}                                                                                  \
	} while (0)

/* ---- modules ---- */

static uint8_t find_module(const struct kept_code *kept, uint32_t module, uint64_t bias)
{
	for (size_t i = 0; i < kept->n_modules; i++)
		if (kept->modules[i].module == module && kept->modules[i].bias == bias)
			return (uint8_t)i;
	return NO_MODULE;
}

static void stretch(struct kept_module *module, uint64_t low, uint64_t high)
{
	module->low = low < module->low ? low : module->low;
	module->high = high > module->high ? high : module->high;
}

/* The module of a block that can run, which is added where it is new. */
static uint8_t add_module(struct kept_code *kept, const struct code_block *block)
{
	const uint64_t bias = block->pc - block->module_offset;
	uint8_t number = find_module(kept, block->module, bias);
	if (number == NO_MODULE && kept->n_modules < KEPT_MODULES) {
		number = (uint8_t)kept->n_modules++;
		struct kept_module *module = &kept->modules[number];
		*module = (struct kept_module){block->module, bias, block->pc, block->pc, {{0}}};
		for (int i = 0; i < MAX_ARENAS; i++)
			module->reach[i].first = INT32_MAX, module->reach[i].last = INT32_MIN;
	}
	if (number != NO_MODULE)
		stretch(&kept->modules[number], block->pc, block->pc + block->size);
	return number;
}

/* The module of an address of code.  One that no block has shown yet is looked up. */
static uint8_t module_of(const struct taking *taking, uint64_t pc)
{
	struct kept_code *kept = taking->kept;
	const struct code_source *source = &taking->translator->source;
	uint32_t module;
	uint64_t offset;
	for (size_t i = 0; i < kept->n_modules; i++)
		if (pc >= kept->modules[i].low && pc < kept->modules[i].high)
			return (uint8_t)i;
	source->locate(source->context, pc, &module, &offset);
	const uint8_t number = find_module(kept, module, pc - offset);
	if (number != NO_MODULE)
		stretch(&kept->modules[number], pc, pc + 1);
	return number;
}

static bool are_apart(const struct kept_code *kept)
{
	for (size_t i = 0; i < kept->n_modules; i++)
		for (size_t j = 0; j < i; j++)
			if (kept->modules[i].low < kept->modules[j].high &&
			    kept->modules[j].low < kept->modules[i].high)
				return false;
	return true;
}

/* ---- lists by module ---- */

/* Puts the numbers of n items in the order of their modules; takes `modules`. */
static void order(struct kept_code *kept, struct by_module *by, uint8_t *modules, size_t n)
{
	memset(by, 0, sizeof(*by));
	by->numbers = malloc(n * sizeof(*by->numbers) + 1);
	kept->failed |= !by->numbers || !modules;
	kept->size += n * sizeof(*by->numbers);
	for (size_t i = 0; i < n && !kept->failed; i++)
		if (modules[i] != NO_MODULE)
			by->begin[modules[i] + 1]++;
	for (size_t i = 0; i < KEPT_MODULES; i++)
		by->begin[i + 1] += by->begin[i];
	size_t next[KEPT_MODULES];
	memcpy(next, by->begin, sizeof(next));
	for (size_t i = 0; i < n && !kept->failed; i++)
		if (modules[i] != NO_MODULE)
			by->numbers[next[modules[i]]++] = (uint32_t)i;
	free(modules);
}

static uint8_t *new_modules(struct kept_code *kept, size_t n)
{
	uint8_t *modules = malloc(n + 1);
	kept->failed |= !modules;
	return modules;
}

/* Where a list of things at addresses is ordered by these. */
#define ORDER_BY_PC(taking, by, items, n, member)                             \
	do {                                                                  \
		uint8_t *modules_ = new_modules((taking)->kept, n);           \
		for (size_t i_ = 0; i_ < (n) && modules_; i_++)               \
			modules_[i_] = module_of(taking, (items)[i_].member); \
		order((taking)->kept, by, modules_, n);                       \
	} while (0)

/* ---- what the code is translated from ---- */

static uint64_t page_key(const void *page)
{
	return *(const uint64_t *)page;
}

/* The pages of the code of a module's blocks, ascending, each once. */
static uint64_t *pages_of(struct kept_code *kept, uint8_t module, size_t *n)
{
	const struct by_module *by = &kept->of_blocks;
	size_t cap = 0, kept_n = 0;
	uint64_t *pages = NULL;
	*n = 0;
	for (size_t i = by->begin[module]; i < by->begin[module + 1]; i++) {
		const struct code_block *block = &kept->cache.blocks[by->numbers[i]];
		for (uint64_t page = block->pc & -PAGE; page < block->pc + block->size;
		     page += PAGE)
			if ((!*n || pages[*n - 1] != page) && !rf_array_push(pages, *n, cap, page))
				kept->failed = true;
	}
	if (!rf_sort_by(pages, *n, sizeof(*pages), page_key))
		kept->failed = true;
	for (size_t i = 0; i < *n; i++)
		if (!kept_n || pages[kept_n - 1] != pages[i])
			pages[kept_n++] = pages[i];
	*n = kept_n;
	return pages;
}

static void add_run(struct taking *taking, uint64_t start, uint32_t size, size_t *cap)
{
	struct kept_code *kept = taking->kept;
	const struct code_source *source = &taking->translator->source;
	const struct kept_run run = {start, size, (uint32_t)kept->n_code};
	const char *ignored;
	if (kept->n_code + size > *cap) {
		*cap = 2 * *cap + size;
		uint8_t *more = realloc(kept->code, *cap);
		if (!more) {
			kept->failed = true;
			return;
		}
		kept->code = more;
	}
	kept->failed |=
		source->read(source->context, start, kept->code + run.at, size, &ignored) < size ||
		!rf_array_push(kept->runs, kept->n_runs, kept->cap_runs, run);
	kept->n_code += size;
}

static void add_runs(struct taking *taking, uint8_t module, size_t *cap)
{
	size_t n;
	uint64_t *pages = pages_of(taking->kept, module, &n);
	for (size_t i = 0, length; i < n && !taking->kept->failed; i += length) {
		for (length = 1; i + length < n && pages[i + length] == pages[i] + length * PAGE;)
			length++;
		add_run(taking, pages[i], (uint32_t)(length * PAGE), cap);
	}
	free(pages);
}

/* Where the kept copy of a block's code is; NULL: there is none. */
static uint8_t *bytes_of(const struct kept_code *kept, size_t module,
			 const struct code_block *block)
{
	const struct kept_run *runs = kept->runs + kept->of_runs.begin[module];
	const size_t n = kept->of_runs.begin[module + 1] - kept->of_runs.begin[module];
	const size_t before = rf_search(n, i, runs[i].start <= block->pc);
	const struct kept_run *run = before ? &runs[before - 1] : NULL;
	if (!run || block->pc + block->size > run->start + run->size)
		return NULL;
	return kept->code + run->at + (block->pc - run->start);
}

bool kept_code_find_bytes(struct kept_code *kept)
{
	const struct by_module *by = &kept->of_blocks;
	for (size_t i = 0; i < kept->cache.n_blocks; i++) /* those that were forgotten have none */
		kept->cache.blocks[i].bytes = NULL;
	for (size_t m = 0; m < kept->n_modules; m++)
		for (size_t i = by->begin[m]; i < by->begin[m + 1]; i++) {
			struct code_block *block = &kept->cache.blocks[by->numbers[i]];
			block->bytes = bytes_of(kept, m, block);
			if (!block->bytes)
				return false;
		}
	return true;
}

static void take_code(struct taking *taking)
{
	struct kept_code *kept = taking->kept;
	size_t cap = 0;
	for (uint8_t m = 0; m < KEPT_MODULES; m++) {
		if (m < kept->n_modules)
			add_runs(taking, m, &cap);
		kept->of_runs.begin[m + 1] = kept->n_runs;
	}
	if (!kept->failed && !kept_code_find_bytes(kept))
		assert(!"code of a block that was not copied");
	kept->size += kept->n_code;
}

/* ---- the code ---- */

/* The module of the block whose code stands at a cache offset. */
static uint8_t module_at(const struct taking *taking, const struct arena *arena,
			 struct piece_cursor *pieces, uint32_t offset)
{
	const bool found = piece_cursor_find(pieces, &arena->pieces, offset);
	assert(found);
	return !found || pieces->here.block == NO_BLOCK
		       ? NO_MODULE
		       : taking->module_of_block[pieces->here.block];
}

static bool is_of_block(enum field_kind kind)
{
	return kind == FIELD_TO_MODULE || kind == FIELD_IN_MODULE;
}

static void note_reach(struct kept_module *module, int arena, const uint8_t *field)
{
	int32_t distance;
	memcpy(&distance, field, sizeof(distance));
	if (distance < module->reach[arena].first)
		module->reach[arena].first = distance;
	if (distance > module->reach[arena].last)
		module->reach[arena].last = distance;
}

static void take_fields(struct taking *taking, int number)
{
	struct kept_code *kept = taking->kept;
	const struct arena *arena = &kept->cache.arenas[number];
	uint8_t *modules = new_modules(kept, arena->n_fields);
	struct piece_cursor pieces = {0};
	for (size_t i = 0; i < arena->n_fields && !kept->failed; i++) {
		const struct field *field = &arena->fields[i];
		const enum field_kind kind = (enum field_kind)field->kind;
		modules[i] = NO_MODULE;
		if (is_of_block(kind))
			modules[i] = module_at(taking, arena, &pieces, field->at);
		else if (kind != FIELD_IN_ARENA)
			modules[i] = module_of(taking, field->pc);
		if (kind == FIELD_TO_MODULE && modules[i] != NO_MODULE)
			note_reach(&kept->modules[modules[i]], number, arena->host + field->at);
	}
	arena_let_go(arena, 0, arena->used);
	order(kept, &kept->of_fields[number], modules, arena->n_fields);
}

/* The module that a link's target is of.  Code goes to another module through tables, which only
 * lead to modules that are there, or through a slot of the GOT, with what the slot holds compared;
 * a direct jump stays in its own module, even where it leads to no code.  *fits becomes false where
 * that is not so. */
static uint8_t module_of_link(const struct taking *taking, const struct link *link,
			      struct piece_cursor *pieces, bool *fits)
{
	const struct code_cache *cache = &taking->kept->cache;
	const uint8_t to = module_of(taking, link->target);
	if (link->is_stub)
		return to;
	const uint8_t from = module_at(taking, &cache->arenas[link->arena], pieces, link->site);
	if (from == NO_MODULE || from == to || link->by_got)
		return to;
	*fits &= to == NO_MODULE;
	return from;
}

/* Links, and the stubs that they lead to.  False: they cannot be kept. */
static bool take_links(struct taking *taking)
{
	struct kept_code *kept = taking->kept;
	const struct code_cache *cache = &kept->cache;
	uint8_t *of_links = new_modules(kept, cache->n_links);
	uint8_t *of_stubs = new_modules(kept, cache->n_stubs);
	struct u64_map outside = {0}; /* targets that are no code → their modules */
	struct piece_cursor pieces[MAX_ARENAS] = {{0}};
	bool fits = true;
	for (size_t i = 0; i < cache->n_links && !kept->failed; i++) {
		const struct link *link = &cache->links[i];
		of_links[i] = module_of_link(taking, link, &pieces[link->arena], &fits);
		if (of_links[i] != NO_MODULE && module_of(taking, link->target) == NO_MODULE)
			kept->failed |= !u64_map_set(&outside, link->target, of_links[i]);
	}
	for (size_t i = 0; i < cache->n_stubs && !kept->failed; i++) {
		of_stubs[i] = module_of(taking, cache->stubs[i].pc);
		const uint32_t *other = u64_map_find(&outside, cache->stubs[i].pc);
		if (of_stubs[i] == NO_MODULE && other)
			of_stubs[i] = (uint8_t)*other;
	}
	for (size_t i = 0; i < cache->n_links && !kept->failed; i++) {
		const uint32_t *other = u64_map_find(&outside, cache->links[i].target);
		if (of_links[i] == NO_MODULE && other) /* those of the stubs themselves */
			of_links[i] = (uint8_t)*other;
	}
	u64_map_deinit(&outside);
	order(kept, &kept->of_links, of_links, cache->n_links);
	order(kept, &kept->of_stubs, of_stubs, cache->n_stubs);
	return fits;
}

/* Those that were lent come first; they are another's. */
static void take_pieces(const struct taking *taking, struct arena *to, struct arena *from)
{
	if (taking->moves && !from->lent.n) {
		to->pieces = from->pieces;
		from->pieces = (struct piece_list){0};
	} else {
		taking->kept->failed |= !piece_list_join(&to->pieces, &from->lent) ||
					!piece_list_join(&to->pieces, &from->pieces);
	}
	taking->kept->size += to->pieces.n_bytes + to->pieces.n_marks * sizeof(*to->pieces.marks);
	if (taking->moves)
		piece_list_deinit(&from->pieces);
}

/* Memory that is mapped is taken as it is. */
static void take_host(const struct taking *taking, struct arena *to, struct arena *from)
{
	to->is_shared = taking->moves && from->is_shared;
	to->host = to->is_shared ? from->host : copy_of(taking->kept, from->host, from->used, 1);
	if (to->is_shared)
		from->host = NULL;
	taking->kept->size += from->used;
}

static void take_arena(struct taking *taking, int number)
{
	struct kept_code *kept = taking->kept;
	struct arena *from = &taking->translator->cache.arenas[number];
	struct arena *to = &kept->cache.arenas[number];
	kept->failed |= from->lacks_fields;
	*to = (struct arena){.base = from->base,
			     .size = from->size,
			     .used = from->used,
			     .constants = from->constants};
	take_host(taking, to, from);
	take_pieces(taking, to, from);
	TAKE(taking, to, from, fields, n_fields, cap_fields);
}

/* ---- all else ---- */

static void take_lists(struct taking *taking, struct code_cache *from)
{
	struct code_cache *to = &taking->kept->cache;
	to->n_arenas = from->n_arenas;
	to->n_counters = from->n_counters;
	to->block_counters = from->block_counters;
	if (taking->moves) /* they lie in `code` from now on */
		code_cache_free_bytes(from);
	TAKE(taking, to, from, blocks, n_blocks, cap_blocks);
	TAKE(taking, to, from, units, n_units, cap_units);
	TAKE(taking, to, from, links, n_links, cap_links);
	TAKE(taking, to, from, stubs, n_stubs, cap_stubs);
	TAKE(taking, to, from, landings, n_landings, cap_landings);
	TAKE(taking, to, from, crossings, n_crossings, cap_crossings);
	TAKE(taking, to, from, derived, n_derived, cap_derived);
	TAKE(taking, to, from, leaving, n_junctions, cap_leaving);
	to->n_inherited = to->n_blocks; /* none of them has bytes of its own */
}

/* Adds what is found at an address, if anything is, to the same index of what is kept. */
static void keep_number(const struct taking *taking, struct pc_index *to,
			const struct pc_index *from, uint64_t pc)
{
	const uint32_t number = code_cache_find(&taking->translator->cache, from, pc);
	taking->kept->failed |= number != NOT_THERE && !pc_index_set(to, pc, number);
}

static const struct code_block *kept_block(const struct kept_code *kept, size_t i)
{
	return &kept->cache.blocks[kept->of_blocks.numbers[i]];
}

/* All that it has was kept. */
static void end_index(const struct taking *taking, const struct pc_index *to, struct pc_index *from)
{
	taking->kept->size += to->own.n_cells * sizeof(*to->own.cells);
	if (taking->moves)
		u64_map_deinit(&from->own);
}

/* What is found by an address: all of it begins a block, follows a call at a block's end, or is
 * linked to. */
static void take_indexes(struct taking *taking)
{
	struct kept_code *kept = taking->kept;
	struct code_cache *to = &kept->cache;
	struct code_cache *from = &taking->translator->cache;
	for (size_t i = 0; i < kept->of_blocks.begin[KEPT_MODULES]; i++) {
		const struct code_block *block = kept_block(kept, i);
		keep_number(taking, &to->block_of_pc, &from->block_of_pc, block->pc);
		keep_number(taking, &to->calls, &from->calls, block->pc + block->size);
	}
	end_index(taking, &to->block_of_pc, &from->block_of_pc);
	end_index(taking, &to->calls, &from->calls);
	for (size_t i = 0; i < kept->of_landings.begin[KEPT_MODULES]; i++) {
		const uint64_t pc = to->landings[kept->of_landings.numbers[i]].pc;
		keep_number(taking, &to->landing_of_pc, &from->landing_of_pc, pc);
	}
	end_index(taking, &to->landing_of_pc, &from->landing_of_pc);
	for (size_t i = 0; i < kept->of_links.begin[KEPT_MODULES]; i++) {
		const uint64_t pc = to->links[kept->of_links.numbers[i]].target;
		keep_number(taking, &to->links_to, &from->links_to, pc);
	}
	end_index(taking, &to->links_to, &from->links_to);
}

/* What ran in the other process tends to run in the next one; all else can be asked for. */
static void take_entries(struct taking *taking)
{
	struct kept_code *kept = taking->kept;
	struct code_cache *cache = &kept->cache;
	for (size_t i = 0; i < kept->of_blocks.begin[KEPT_MODULES] && !kept->failed; i++) {
		const struct code_block *block = kept_block(kept, i);
		const struct landing *landing = code_cache_landing(cache, block->pc);
		const struct kept_entry entry = {block->pc, block->entry, block->arena, false};
		if (!block->has_row || code_cache_block(cache, block->pc) != block)
			continue;
		if (block->entry)
			kept->failed |= !rf_array_push(kept->entries, kept->n_entries,
						       kept->cap_entries, entry);
		if (!landing)
			continue;
		const struct kept_entry back = {block->pc, landing->at, landing->arena, true};
		kept->failed |=
			!rf_array_push(kept->entries, kept->n_entries, kept->cap_entries, back);
	}
	if (!kept->failed)
		ORDER_BY_PC(taking, &kept->of_entries, kept->entries, kept->n_entries, pc);
	kept->size += kept->n_entries * sizeof(*kept->entries);
}

static void take_groups(struct kept_code *kept, const struct trace_config *trace)
{
	size_t n = 0, next = 0;
	kept->is_traced = trace;
	if (!trace)
		return;
	kept->traces_all = trace->classes == UINT64_MAX;
	kept->n_numbers = trace->n_numbers;
	kept->n_groups = trace->n_groups;
	for (uint32_t i = 0; i < trace->n_groups; i++)
		n += trace_config_group(trace, i)->n;
	kept->n_operands = n;
	kept->groups = malloc(kept->n_groups * sizeof(*kept->groups) + 1);
	kept->operands = malloc(n * sizeof(*kept->operands) + 1);
	kept->failed |= !kept->groups || !kept->operands;
	for (uint32_t i = 0; i < kept->n_groups && !kept->failed; i++) {
		kept->groups[i] = *trace_config_group(trace, i);
		memcpy(kept->operands + next, kept->groups[i].operands,
		       kept->groups[i].n * sizeof(*kept->operands));
		kept->groups[i].operands = kept->operands + next;
		next += kept->groups[i].n;
	}
	kept->size += kept->n_groups * sizeof(*kept->groups) + n * sizeof(*kept->operands);
}

/* Which module each block is of; those that were forgotten are of none. */
static void take_modules(struct taking *taking)
{
	struct kept_code *kept = taking->kept;
	const struct code_cache *cache = &kept->cache;
	uint8_t *copy = new_modules(kept, cache->n_blocks);
	taking->module_of_block = new_modules(kept, cache->n_blocks);
	for (size_t i = 0; i < cache->n_blocks && !kept->failed; i++)
		copy[i] = taking->module_of_block[i] =
			cache->blocks[i].stale ? NO_MODULE : add_module(kept, &cache->blocks[i]);
	order(kept, &kept->of_blocks, copy, cache->n_blocks);
}

static bool take(struct taking *taking)
{
	struct kept_code *kept = taking->kept;
	struct code_cache *cache = &kept->cache;
	kept->batch_insns = taking->translator->batch_insns;
	kept->is_plain = taking->translator->is_plain;
	take_lists(taking, &taking->translator->cache);
	for (int i = 0; i < cache->n_arenas; i++)
		take_arena(taking, i);
	take_groups(kept, taking->translator->trace);
	if (kept->failed)
		return false;
	take_modules(taking);
	take_code(taking);
	if (!take_links(taking))
		return false;
	ORDER_BY_PC(taking, &kept->of_landings, cache->landings, cache->n_landings, pc);
	for (int i = 0; i < cache->n_arenas && !kept->failed; i++)
		take_fields(taking, i);
	if (!kept->failed)
		take_indexes(taking);
	if (!kept->failed)
		take_entries(taking);
	code_cache_put_to_sleep(cache);
	return !kept->failed && kept->n_modules && are_apart(kept);
}

struct kept_code *kept_code_take(struct translator *translator, bool moves)
{
	struct taking taking = {calloc(1, sizeof(*taking.kept)), translator, moves, NULL};
	if (!taking.kept)
		return NULL;
	taking.kept->n_users = 1;
	const bool ok = !translator->failed && take(&taking);
	free(taking.module_of_block);
	if (ok)
		return taking.kept;
	kept_code_release(taking.kept);
	return NULL;
}

struct kept_code *kept_code_use(struct kept_code *kept)
{
	if (kept)
		__atomic_add_fetch(&kept->n_users, 1, __ATOMIC_SEQ_CST);
	return kept;
}

static void free_lists(struct kept_code *kept)
{
	struct by_module *const lists[] = {&kept->of_blocks, &kept->of_links, &kept->of_stubs,
					   &kept->of_landings, &kept->of_entries};
	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++)
		free(lists[i]->numbers);
	for (int i = 0; i < MAX_ARENAS; i++) {
		free(kept->of_fields[i].numbers);
		arena_free_host(&kept->cache.arenas[i]);
	}
	code_cache_deinit(&kept->cache);
	free(kept->code);
	free(kept->runs);
	free(kept->entries);
	free(kept->groups);
	free(kept->operands);
}

void kept_code_release(struct kept_code *kept)
{
	if (!kept || __atomic_sub_fetch(&kept->n_users, 1, __ATOMIC_SEQ_CST))
		return;
	if (kept->file.file)
		kept_bytes_release(&kept->file);
	else
		free_lists(kept);
	free(kept);
}
