/* Goes through kept code once, list by list. */
#include "tracer/stock/code_check.h"

#include "insn/operands.h"

#define PAGE 4096
#define N_REGISTERS 16
#define MOST_ARENA (1ull << 31) /* bytes: offsets in it are signed numbers of 32 bits */

/* Whether a byte that stands for a bool is one. */
#define IS_BOOL(member) (*(const uint8_t *)&(member) <= 1)

static bool has_arena(const struct kept_code *kept, unsigned arena)
{
	return arena < (unsigned)kept->cache.n_arenas;
}

/* Whether `size` bytes from a cache offset on have been made. */
static bool is_made(const struct kept_code *kept, unsigned arena, uint32_t at, size_t size)
{
	return has_arena(kept, arena) && (uint64_t)at + size <= kept->cache.arenas[arena].used;
}

/* ---- modules ---- */

/* The numbers of a list of n items, or (`numbers` NULL) the items themselves. */
static bool check_order(const struct kept_code *kept, const struct by_module *by, size_t n)
{
	if (by->begin[0] != 0 || by->begin[KEPT_MODULES] > n)
		return false;
	for (size_t m = 0; m < KEPT_MODULES; m++)
		if (by->begin[m] > by->begin[m + 1] || by->begin[m + 1] > n ||
		    (m >= kept->n_modules && by->begin[m] != by->begin[m + 1]))
			return false;
	for (size_t m = 0; m < KEPT_MODULES && by->numbers; m++)
		for (size_t i = by->begin[m]; i < by->begin[m + 1]; i++)
			if (by->numbers[i] >= n ||
			    (i > by->begin[m] && by->numbers[i] <= by->numbers[i - 1]))
				return false;
	return true;
}

static bool check_orders(const struct kept_code *kept)
{
	const struct code_cache *cache = &kept->cache;
	bool ok = check_order(kept, &kept->of_runs, kept->n_runs) &&
		  check_order(kept, &kept->of_blocks, cache->n_blocks) &&
		  check_order(kept, &kept->of_links, cache->n_links) &&
		  check_order(kept, &kept->of_stubs, cache->n_stubs) &&
		  check_order(kept, &kept->of_landings, cache->n_landings) &&
		  check_order(kept, &kept->of_entries, kept->n_entries);
	for (int i = 0; i < cache->n_arenas && ok; i++)
		ok = check_order(kept, &kept->of_fields[i], cache->arenas[i].n_fields);
	return ok;
}

static bool check_modules(const struct kept_code *kept)
{
	for (size_t m = 0; m < kept->n_modules; m++) {
		const struct kept_module *module = &kept->modules[m];
		if (module->low >= module->high)
			return false;
		for (size_t i = kept->of_runs.begin[m]; i < kept->of_runs.begin[m + 1]; i++) {
			const struct kept_run *run = &kept->runs[i];
			if (run->start % PAGE || run->size % PAGE || !run->size ||
			    (uint64_t)run->at + run->size > kept->n_code ||
			    (i > kept->of_runs.begin[m] && run->start <= run[-1].start))
				return false;
		}
	}
	return true;
}

/* ---- arenas ---- */

static bool check_piece(const struct kept_code *kept, const struct piece *piece)
{
	return piece->kind <= PIECE_DATA && piece->reg < N_REGISTERS &&
	       piece->spilled <= N_REGISTERS &&
	       (piece->block == NO_BLOCK || (piece->block < kept->cache.n_blocks &&
					     piece->orig <= kept->cache.blocks[piece->block].size));
}

/* Each group has its mark, and there is nothing but groups. */
static bool check_pieces(const struct kept_code *kept, const struct arena *arena)
{
	const struct piece_list *list = &arena->pieces;
	struct piece_reader reader = piece_reader_of(list);
	size_t n = 0, n_marks = 0, at = 0;
	for (uint32_t before = 0; piece_reader_next(&reader); n++) {
		const struct piece *piece = &reader.piece;
		if (piece->cache > arena->used || piece->cache < before ||
		    !check_piece(kept, piece) || (!n && !reader.begins))
			return false;
		if (reader.begins) {
			if (n_marks == list->n_marks || list->marks[n_marks].at != at ||
			    list->marks[n_marks].cache != piece->cache)
				return false;
			n_marks++;
		}
		before = piece->cache;
		at = (size_t)(reader.at - list->bytes);
	}
	return reader.at == reader.end && n == list->n && n_marks == list->n_marks;
}

static bool check_fields(const struct arena *arena)
{
	for (size_t i = 0; i < arena->n_fields; i++) {
		const struct field *field = &arena->fields[i];
		const enum field_kind kind = (enum field_kind)field->kind;
		const size_t size = kind == FIELD_TO_MODULE || kind == FIELD_PC_LOW ||
						    kind == FIELD_PC_HIGH || kind == FIELD_PC_MIDDLE
					    ? 4
					    : 8;
		if (field->kind > FIELD_IN_ARENA || field->at + size > arena->used)
			return false;
	}
	return true;
}

/* Whether it lies in front of `end`. */
static bool check_aside(const struct put_aside *aside, uint64_t end)
{
	return aside->at <= aside->end && aside->end <= end;
}

/* What is put aside for constants must be nothing but that: it is written over. */
static bool check_constants(const struct arena *arena)
{
	const struct put_aside *aside = &arena->constants;
	if (aside->at == aside->end)
		return true;
	struct piece first, last;
	return check_aside(aside, arena->used) && aside->at % 8 == 0 && aside->end % 8 == 0 &&
	       arena_piece_at(arena, aside->at, &first) && first.kind == PIECE_DATA &&
	       arena_piece_at(arena, aside->end - 1, &last) && last.cache == first.cache;
}

static bool check_sizes(const struct kept_code *kept)
{
	const struct code_cache *cache = &kept->cache;
	if (cache->n_arenas < 1 || cache->n_arenas > MAX_ARENAS)
		return false;
	for (int i = 0; i < cache->n_arenas; i++) {
		const struct arena *arena = &cache->arenas[i];
		if (arena->size > MOST_ARENA || arena->used > arena->size ||
		    arena->base + arena->size < arena->base)
			return false;
	}
	return true;
}

bool code_check_arenas(const struct kept_code *kept)
{
	const struct code_cache *cache = &kept->cache;
	for (int i = 0; i < cache->n_arenas; i++)
		if (!check_pieces(kept, &cache->arenas[i]) || !check_fields(&cache->arenas[i]) ||
		    !check_constants(&cache->arenas[i]))
			return false;
	return true;
}

/* ---- counters ---- */

static uint32_t first_counter(const struct kept_code *kept)
{
	return kept->is_plain ? FIRST_PLAIN_COUNTER : 0;
}

/* Whether there are n counters from that one on. */
static bool has_counters(const struct kept_code *kept, uint32_t counter, uint32_t n)
{
	return counter >= first_counter(kept) && (uint64_t)counter + n <= kept->cache.n_counters;
}

static bool has_junction(const struct kept_code *kept, uint32_t junction)
{
	return junction == OUTSIDE || junction < kept->cache.n_junctions;
}

static bool check_counters(const struct kept_code *kept)
{
	const struct code_cache *cache = &kept->cache;
	const uint32_t most = kept->is_plain ? SLOT_N_COUNTERS : FIRST_PLAIN_COUNTER;
	bool ok = cache->n_counters >= first_counter(kept) && cache->n_counters <= most &&
		  check_aside(&cache->block_counters, cache->n_counters);
	for (size_t i = 0; i < cache->n_crossings && ok; i++) {
		const struct crossing *crossing = &cache->crossings[i];
		ok = has_junction(kept, crossing->from) && has_junction(kept, crossing->to) &&
		     has_counters(kept, crossing->counter, 1);
	}
	for (size_t i = 0; i < cache->n_derived && ok; i++)
		ok = cache->derived[i].block < cache->n_blocks && IS_BOOL(cache->derived[i].at_in);
	for (size_t i = 0; i < cache->n_junctions && ok; i++)
		ok = cache->leaving[i] == NO_COUNTER || has_counters(kept, cache->leaving[i], 1);
	return ok;
}

static bool check_units(const struct kept_code *kept)
{
	for (size_t i = 0; i < kept->cache.n_units; i++) {
		const struct unit_counter *unit = &kept->cache.units[i];
		const bool is_call = unit->kind == UNIT_CALL;
		if (unit->kind > UNIT_OUT || unit->block >= kept->cache.n_blocks ||
		    unit->counter >= SLOT_N_COUNTERS ||
		    (unit->kind != UNIT_OUT &&
		     !has_counters(kept, unit->counter, is_call ? CALL_COUNTERS : 1)))
			return false;
	}
	return true;
}

/* ---- blocks, and how they are found ---- */

static bool check_block(const struct kept_code *kept, const struct code_block *block)
{
	return block->size && block->pc + block->size > block->pc &&
	       is_made(kept, block->arena, block->inner, 0) &&
	       is_made(kept, block->arena, block->body, 0) &&
	       is_made(kept, block->arena, block->called, 0) &&
	       is_made(kept, block->arena, block->entry, 0) &&
	       is_made(kept, block->arena, block->counted_at, 0) &&
	       (block->counter == NO_COUNTER || has_counters(kept, block->counter, 1)) &&
	       has_junction(kept, block->in) && has_junction(kept, block->out);
}

static bool check_blocks(const struct kept_code *kept)
{
	const struct code_cache *cache = &kept->cache;
	const struct by_module *by = &kept->of_blocks;
	bool ok = cache->n_blocks < NO_BLOCK && (!cache->n_blocks || !cache->blocks[0].falls_in);
	for (size_t i = 0; i < cache->n_blocks && ok; i++)
		ok = check_block(kept, &cache->blocks[i]);
	for (size_t m = 0; m < kept->n_modules; m++)
		for (size_t i = by->begin[m]; i < by->begin[m + 1] && ok; i++) {
			const struct code_block *block = &cache->blocks[by->numbers[i]];
			ok = block->pc >= kept->modules[m].low &&
			     block->pc + block->size <= kept->modules[m].high;
		}
	return ok;
}

/* A link leads to one that was there before it. */
static bool check_links(const struct kept_code *kept)
{
	const struct code_cache *cache = &kept->cache;
	for (size_t i = 0; i < cache->n_links; i++) {
		const struct link *link = &cache->links[i];
		if (!IS_BOOL(link->is_stub) || !IS_BOOL(link->by_got) || link->kind > LINK_FLOW ||
		    !is_made(kept, link->arena, link->site, link->is_stub ? 8 : 4) ||
		    (link->is_stub && link->site % 8) || !has_junction(kept, link->junction) ||
		    (link->next != NOT_THERE && link->next >= i))
			return false;
	}
	return true;
}

static bool check_ends(const struct kept_code *kept)
{
	const struct code_cache *cache = &kept->cache;
	bool ok = true;
	for (size_t i = 0; i < cache->n_stubs && ok; i++)
		ok = has_arena(kept, cache->stubs[i].arena) && IS_BOOL(cache->stubs[i].is_call) &&
		     IS_BOOL(cache->stubs[i].linked);
	for (size_t i = 0; i < cache->n_landings && ok; i++) {
		const struct landing *landing = &cache->landings[i];
		ok = is_made(kept, landing->arena, landing->at, 0) &&
		     is_made(kept, landing->arena, landing->behind, 0) &&
		     landing->next <= cache->n_landings && IS_BOOL(landing->keeps_flags);
	}
	for (size_t i = 0; i < kept->n_entries && ok; i++)
		ok = is_made(kept, kept->entries[i].arena, kept->entries[i].at, 0) &&
		     IS_BOOL(kept->entries[i].is_return);
	return ok;
}

/* `n`: of how many items it has the numbers; 0: it has places of calls. */
static bool check_index(const struct kept_code *kept, const struct u64_map *map, size_t n)
{
	size_t n_used = 0;
	if (!map->n_cells)
		return !map->n_used;
	if (map->n_cells % 8)
		return false;
	for (size_t i = 0; i < map->n_cells; i++) {
		const struct u64_map_cell *cell = &map->cells[i];
		const uint32_t at = cell->value & CALL_OFFSET;
		if (!cell->key)
			continue;
		n_used++;
		if (n ? cell->value >= n : !is_made(kept, cell->value >> CALL_ARENA_SHIFT, at, 0))
			return false;
	}
	return n_used == map->n_used && n_used < map->n_cells;
}

static bool check_indexes(const struct kept_code *kept)
{
	const struct code_cache *cache = &kept->cache;
	return check_index(kept, &cache->block_of_pc.own, cache->n_blocks) &&
	       (!cache->links_to.own.n_cells ||
		(cache->n_links && check_index(kept, &cache->links_to.own, cache->n_links))) &&
	       (!cache->landing_of_pc.own.n_cells ||
		(cache->n_landings &&
		 check_index(kept, &cache->landing_of_pc.own, cache->n_landings))) &&
	       check_index(kept, &cache->calls.own, 0);
}

/* ---- operands that are traced ---- */

static bool check_operand(const struct kept_code *kept, const struct trace_operand *operand,
			  unsigned form)
{
	const bool by_vector = form == OPERAND_GATHER;
	return (operand->number < kept->n_numbers || form == TRACE_TRANSFER) &&
	       operand->block < kept->cache.n_blocks && operand->lanes <= 64 &&
	       operand->scale <= 8 &&
	       (!by_vector || operand->index_bits == 32 || operand->index_bits == 64) &&
	       (operand->base < N_REGISTERS || operand->base == NO_BASE);
}

/* The operands of groups lie one group behind the other. */
static bool check_groups(const struct kept_code *kept)
{
	size_t next = 0;
	bool ok = kept->is_traced || (!kept->n_groups && !kept->n_operands && !kept->n_numbers);
	ok &= kept->n_groups < TRACE_GROUP_MAX && kept->n_groups < (size_t)TRACE_PAGE * TRACE_PAGES;
	for (size_t i = 0; i < kept->n_groups && ok; i++) {
		const struct trace_group *group = &kept->groups[i];
		ok = group->n && group->n <= kept->n_operands - next &&
		     (group->form < OPERAND_UNTRACED ||
		      (group->form == TRACE_TRANSFER && group->n == 1));
		for (size_t k = 0; k < group->n && ok; k++)
			ok = check_operand(kept, &kept->operands[next + k], group->form);
		next += group->n;
	}
	return ok && next == kept->n_operands;
}

bool code_check_head(const struct kept_code *kept)
{
	return IS_BOOL(kept->is_plain) && IS_BOOL(kept->is_traced) && IS_BOOL(kept->traces_all) &&
	       kept->n_modules && kept->n_modules <= KEPT_MODULES && check_sizes(kept);
}

bool code_check_lists(const struct kept_code *kept)
{
	return check_orders(kept) && check_modules(kept) && check_counters(kept) &&
	       check_units(kept) && check_blocks(kept) && check_links(kept) && check_ends(kept) &&
	       check_indexes(kept) && check_groups(kept);
}
