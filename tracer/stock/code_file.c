/* One walk over all that kept code has serves to write and to read it. */
#include "tracer/stock/code_file.h"

#include "base/array.h"
#include "base/parallel.h"
#include "tracer/stock/code_check.h"

#include <string.h>

#define ALIGNMENT 16
#define MOST_ROWS (1u << 20) /* modules of a profile */

/* What is done with each part.  `lasts`: how many items there are is known already. */
struct walker {
	void (*value)(struct walker *walker, void *value, size_t size);
	void (*list)(struct walker *walker, void **items, size_t *n, size_t size, bool lasts);
	struct kept_piece *pieces; /* what is written */
	size_t n_pieces, cap_pieces;
	uint8_t *at, *end; /* what is read, up to there */
	bool failed;       /* there is less than that, or memory is short */
};

#define VALUE(walker, lvalue) (walker)->value(walker, &(lvalue), sizeof(lvalue))
#define LIST(walker, of, items, n) \
	(walker)->list(walker, (void **)&(of)->items, &(of)->n, sizeof(*(of)->items), false)

static void walk_index(struct walker *walker, struct u64_map *map)
{
	size_t n_words;
	VALUE(walker, map->n_used);
	LIST(walker, map, cells, n_cells);
	n_words = map->n_cells / 8;
	walker->list(walker, (void **)&map->filter, &n_words, sizeof(*map->filter), true);
}

static void walk_order(struct walker *walker, struct by_module *by)
{
	VALUE(walker, by->begin);
	walker->list(walker, (void **)&by->numbers, &by->begin[KEPT_MODULES], sizeof(*by->numbers),
		     true);
}

static void walk_arena(struct walker *walker, struct arena *arena)
{
	VALUE(walker, arena->base);
	VALUE(walker, arena->size);
	VALUE(walker, arena->constants);
	LIST(walker, arena, host, used);
	VALUE(walker, arena->pieces.n);
	LIST(walker, &arena->pieces, bytes, n_bytes);
	LIST(walker, &arena->pieces, marks, n_marks);
	LIST(walker, arena, fields, n_fields);
}

static void walk_cache(struct walker *walker, struct code_cache *cache)
{
	VALUE(walker, cache->n_counters);
	VALUE(walker, cache->block_counters);
	LIST(walker, cache, blocks, n_blocks);
	LIST(walker, cache, units, n_units);
	LIST(walker, cache, links, n_links);
	LIST(walker, cache, stubs, n_stubs);
	LIST(walker, cache, landings, n_landings);
	LIST(walker, cache, crossings, n_crossings);
	LIST(walker, cache, derived, n_derived);
	LIST(walker, cache, leaving, n_junctions);
	walk_index(walker, &cache->block_of_pc.own);
	walk_index(walker, &cache->links_to.own);
	walk_index(walker, &cache->landing_of_pc.own);
	walk_index(walker, &cache->calls.own);
	VALUE(walker, cache->n_arenas);
	for (int i = 0; i < cache->n_arenas && i < MAX_ARENAS; i++)
		walk_arena(walker, &cache->arenas[i]);
}

static void walk(struct walker *walker, struct kept_code *kept, struct code_names *names)
{
	walk_cache(walker, &kept->cache);
	VALUE(walker, kept->batch_insns);
	VALUE(walker, kept->is_plain);
	VALUE(walker, kept->is_traced);
	VALUE(walker, kept->traces_all);
	VALUE(walker, kept->n_numbers);
	VALUE(walker, kept->n_modules);
	VALUE(walker, kept->modules);
	VALUE(walker, kept->of_runs.begin);
	LIST(walker, kept, runs, n_runs);
	LIST(walker, kept, code, n_code);
	LIST(walker, kept, entries, n_entries);
	LIST(walker, kept, groups, n_groups);
	LIST(walker, kept, operands, n_operands);
	walk_order(walker, &kept->of_blocks);
	walk_order(walker, &kept->of_links);
	walk_order(walker, &kept->of_stubs);
	walk_order(walker, &kept->of_landings);
	walk_order(walker, &kept->of_entries);
	for (int i = 0; i < kept->cache.n_arenas && i < MAX_ARENAS; i++)
		walk_order(walker, &kept->of_fields[i]);
	LIST(walker, names, items, n_items);
	LIST(walker, names, texts, n_texts);
}

/* ---- writing ---- */

static void put(struct walker *walker, const void *bytes, size_t size)
{
	static const char zeros[ALIGNMENT];
	const struct kept_piece piece = {bytes, size}, padding = {zeros, -size & (ALIGNMENT - 1)};
	walker->failed |= (piece.size && !rf_array_push(walker->pieces, walker->n_pieces,
							walker->cap_pieces, piece)) ||
			  (padding.size && !rf_array_push(walker->pieces, walker->n_pieces,
							  walker->cap_pieces, padding));
}

static void put_value(struct walker *walker, void *value, size_t size)
{
	put(walker, value, size);
}

static void put_list(struct walker *walker, void **items, size_t *n, size_t size, bool lasts)
{
	if (!lasts)
		put(walker, n, sizeof(*n));
	put(walker, *items, *n * size);
}

/* Nothing of it is changed. */
struct kept_piece *code_file_pieces(const struct kept_code *kept, const struct code_names *names,
				    size_t *n)
{
	struct walker walker = {.value = put_value, .list = put_list};
	walk(&walker, (struct kept_code *)kept, (struct code_names *)names);
	*n = walker.n_pieces;
	if (!walker.failed)
		return walker.pieces;
	free(walker.pieces);
	return NULL;
}

/* ---- names of modules ---- */

/* Calls `on` for each place that has the number of a module. */
static void each_module(struct kept_code *kept, void (*on)(void *context, uint32_t *module),
			void *context)
{
	for (size_t i = 0; i < kept->n_modules; i++)
		on(context, &kept->modules[i].module);
	for (size_t i = 0; i < kept->cache.n_blocks; i++)
		on(context, &kept->cache.blocks[i].module);
	for (size_t i = 0; i < kept->cache.n_units; i++)
		on(context, &kept->cache.units[i].module);
	for (size_t i = 0; i < kept->n_operands; i++)
		on(context, &kept->operands[i].module);
}

/* By the rows of a profile: whether they are named, or which rows they are in another one. */
struct rows {
	uint32_t *of;
	size_t n;
	bool failed; /* a row is none of them */
};

static void note_row(void *context, uint32_t *module)
{
	struct rows *rows = context;
	if (*module == PROFILE_NONE)
		return;
	rows->failed |= *module >= rows->n;
	if (*module < rows->n)
		rows->of[*module] = 1;
}

static bool add_text(struct code_names *names, const char *text, uint32_t *at)
{
	bool ok = true;
	*at = (uint32_t)names->n_texts;
	for (size_t i = 0; ok && (i == 0 || text[i - 1]); i++)
		ok = rf_array_push(names->texts, names->n_texts, names->cap_texts, text[i]);
	return ok;
}

/* All zero for what is in no file. */
static struct file_stamp stamp_of(const char *path)
{
	return path[0] == '/' ? file_stamp_of_path(path) : (struct file_stamp){0};
}

bool code_names_take(struct code_names *names, const struct kept_code *kept,
		     const struct profile *profile)
{
	struct rows rows = {calloc(profile->n_modules + 1, sizeof(*rows.of)), profile->n_modules,
			    false};
	*names = (struct code_names){0};
	if (!rows.of)
		return false;
	each_module((struct kept_code *)kept, note_row, &rows);
	bool ok = !rows.failed;
	for (uint32_t i = 0; i < rows.n && ok; i++) {
		struct code_name name = {.row = i};
		if (!rows.of[i])
			continue;
		name.stamp = stamp_of(profile->modules[i].path);
		ok = add_text(names, profile->modules[i].path, &name.path) &&
		     add_text(names, profile->modules[i].build_id, &name.build_id) &&
		     rf_array_push(names->items, names->n_items, names->cap_items, name);
	}
	free(rows.of);
	return ok;
}

void code_names_deinit(struct code_names *names)
{
	free(names->items);
	free(names->texts);
	*names = (struct code_names){0};
}

static bool check_names(const struct code_names *names)
{
	bool ok = !names->n_texts || !names->texts[names->n_texts - 1];
	for (size_t i = 0; i < names->n_items && ok; i++)
		ok = names->items[i].row < MOST_ROWS && names->items[i].path < names->n_texts &&
		     names->items[i].build_id < names->n_texts;
	return ok;
}

/* Code is compared where it is used; what else was looked at, such as symbols, is not. */
static bool names_hold(const struct code_names *names)
{
	bool same = true;
	for (size_t i = 0; i < names->n_items && same; i++) {
		const struct file_stamp now = stamp_of(names->texts + names->items[i].path);
		same = memcmp(&now, &names->items[i].stamp, sizeof(now)) == 0;
	}
	return same;
}

static void rename_row(void *context, uint32_t *module)
{
	struct rows *rows = context;
	if (*module == PROFILE_NONE)
		return;
	const uint32_t row = *module < rows->n ? rows->of[*module] : PROFILE_NONE;
	rows->failed |= row == PROFILE_NONE;
	*module = row;
}

/* Modules get the numbers of this profile. */
static bool rename_modules(struct kept_code *kept, const struct code_names *names,
			   struct profile *profile)
{
	struct rows rows = {0};
	for (size_t i = 0; i < names->n_items; i++)
		rows.n = names->items[i].row >= rows.n ? names->items[i].row + 1 : rows.n;
	rows.of = malloc(rows.n * sizeof(*rows.of) + 1);
	if (!rows.of)
		return false;
	for (size_t i = 0; i < rows.n; i++)
		rows.of[i] = PROFILE_NONE;
	for (size_t i = 0; i < names->n_items; i++)
		rows.of[names->items[i].row] =
			profile_module(profile, names->texts + names->items[i].path,
				       names->texts + names->items[i].build_id);
	each_module(kept, rename_row, &rows);
	free(rows.of);
	return !rows.failed;
}

/* ---- reading ---- */

/* The next `size` bytes, or NULL. */
static void *take(struct walker *walker, size_t size)
{
	const size_t padding = -size & (ALIGNMENT - 1), left = (size_t)(walker->end - walker->at);
	void *bytes = walker->at;
	if (size > left || padding > left - size) {
		walker->failed = true;
		return NULL;
	}
	walker->at += size + padding;
	return bytes;
}

static void take_value(struct walker *walker, void *value, size_t size)
{
	const void *bytes = take(walker, size);
	if (bytes)
		memcpy(value, bytes, size);
	else
		memset(value, 0, size);
}

static void take_list(struct walker *walker, void **items, size_t *n, size_t size, bool lasts)
{
	if (!lasts)
		take_value(walker, n, sizeof(*n));
	if (*n > SIZE_MAX / 2 / size)
		walker->failed = true;
	*items = walker->failed ? NULL : take(walker, *n * size);
	if (!*items)
		*n = 0;
}

/* ---- what is asked of it before any of it is used ---- */

/* Of what is larger, at once: threads take longer to begin than a smaller one to be looked at. */
#define BESIDE_BYTES ((size_t)4 << 20)

enum { SUM, ARENAS, LISTS, N_QUESTIONS };

struct checking {
	const struct kept_code *kept;
	bool holds[N_QUESTIONS];
};

static struct rf_error *check(size_t question, void *context)
{
	struct checking *checking = context;
	const struct kept_code *kept = checking->kept;
	checking->holds[question] = question == SUM      ? kept_bytes_are_whole(&kept->file)
				    : question == ARENAS ? code_check_arenas(kept)
							 : code_check_lists(kept);
	return NULL;
}

static bool holds(const struct kept_code *kept)
{
	struct checking checking = {.kept = kept};
	bool all = code_check_head(kept);
	if (!all)
		return false;
	if (kept->size >= BESIDE_BYTES)
		(void)parallel_run(N_QUESTIONS, check, &checking);
	else
		for (size_t i = 0; i < N_QUESTIONS; i++)
			check(i, &checking);
	for (size_t i = 0; i < N_QUESTIONS; i++)
		all &= checking.holds[i];
	return all;
}

/* What points to elsewhere, or was of the run that has ended. */
static void settle(struct kept_code *kept)
{
	size_t next = 0;
	kept->cache.n_inherited = kept->cache.n_blocks;
	code_cache_put_to_sleep(&kept->cache);
	for (size_t i = 0; i < kept->cache.n_blocks; i++) {
		struct code_block *block = &kept->cache.blocks[i];
		block->has_row = false;
		block->row = 0;
	}
	for (size_t i = 0; i < kept->n_groups; i++) {
		kept->groups[i].operands = kept->operands + next;
		next += kept->groups[i].n;
	}
}

struct kept_code *code_file_read(struct kept_bytes *file, struct profile *profile, bool *broken)
{
	struct kept_code *kept = calloc(1, sizeof(*kept));
	struct code_names names = {0}; /* they lie in the file */
	struct walker walker = {.value = take_value,
				.list = take_list,
				.at = (uint8_t *)file->bytes,
				.end = (uint8_t *)file->bytes + file->size};
	*broken = false;
	if (!kept) {
		kept_bytes_release(file);
		return NULL;
	}
	walk(&walker, kept, &names);
	kept->n_users = 1;
	kept->file = *file;
	kept->size = file->size;
	*broken = walker.failed || walker.at != walker.end || !holds(kept) || !check_names(&names);
	if (!*broken)
		settle(kept);
	*broken = *broken || !kept_code_find_bytes(kept);
	if (!*broken && names_hold(&names) && rename_modules(kept, &names, profile))
		return kept;
	kept_code_release(kept);
	return NULL;
}
