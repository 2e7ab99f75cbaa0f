/* Answers requests for translated code: plans, lays out and emits a batch where there is none yet,
 * and forgets what the program has changed. */
#include "tracer/translate/translate.h"

#include "base/array.h"
#include "base/assert.h"
#include "base/clock.h"
#include "tracer/translate/block.h"
#include "tracer/translate/inherit.h"
#include "tracer/translate/landing.h"
#include "tracer/translate/trace_emit.h"
#include "tracer/translate/transfer.h"
#include "tracer/translate/way.h"

#include <stdlib.h>

static const char why_full[] = "the code cache is full";
static const char why_no_memory[] = "rfprof is out of memory";

#define BATCH_ALIGNMENT 32 /* what keep_alignment in block.c depends on, and a few bytes more */

void translator_make_plain(struct translator *translator, struct translator *checked)
{
	assert(!translator->cache.n_counters && !translator->trace);
	translator->is_plain = true;
	translator->checked = checked;
	translator->cache.n_counters = FIRST_PLAIN_COUNTER;
}

/* Lays out and emits a plan. */
static void emit_plan(struct batch *batch, const struct plan *plan, bool with_entry)
{
	struct layout layout;
	batch_check(batch, layout_build(&layout, plan, batch->cache));
	batch->layout = &layout;
	batch->entry_due = with_entry ? plan->items[0].insn.pc : 0;
	emit_blocks(batch, plan);
	emit_cold_calls(batch);
	emit_got_misses(batch);
	emit_cold_checks(batch);
	emit_exits(batch);
	batch->layout = NULL;
	layout_deinit(&layout);
}

/* Makes a batch of a plan.  Returns NULL, or why that cannot be. */
static const char *make_batch(struct translator *translator, struct arena *arena,
			      const struct plan *plan, bool with_entry)
{
	struct batch batch;
	/* of a block: its own, that of a way to it, and those of two ways out */
	if (!arena || translator->cache.n_counters + 4 * plan->n_items + BLOCK_COUNTERS >
			      translator_counters(translator))
		return why_full;
	batch_open(&batch, translator, arena, NO_BLOCK);
	emit_plan(&batch, plan, with_entry);
	emit_replaced_landings(&batch);
	batch_publish(&batch);
	return batch_close(&batch) ? NULL : why_no_memory;
}

/* Sends links that aim at pc to the gate. */
static void sever(struct translator *translator, struct arena *arena, uint64_t pc,
		  enum link_kind kind, uint32_t junction)
{
	struct code_cache *cache = &translator->cache;
	struct batch batch;
	if (!code_cache_has_links(cache, arena, pc, kind, junction) || !code_cache_has_room(arena))
		return;
	batch_open(&batch, translator, arena, NO_BLOCK);
	const uint32_t way = kind == LINK_FLOW ? batch_way_out(&batch, pc, junction)
					       : batch_stub(&batch, pc, kind == LINK_CALL);
	code_cache_aim_links(cache, arena, pc, kind, junction, way, true);
	batch_close(&batch);
}

static void forget(struct translator *translator, struct code_block *block)
{
	struct code_cache *cache = &translator->cache;
	block->stale = true;
	translator->failed |= !pc_index_remove(&cache->block_of_pc, block->pc) ||
			      !pc_index_remove(&cache->landing_of_pc, block->pc) ||
			      !pc_index_remove(&cache->calls, block->pc + block->size);
	for (int i = 0; i < cache->n_arenas; i++) {
		sever(translator, &cache->arenas[i], block->pc, LINK_JUMP, OUTSIDE);
		sever(translator, &cache->arenas[i], block->pc, LINK_CALL, OUTSIDE);
	}
	if (block->in != OUTSIDE)
		sever(translator, &cache->arenas[block->arena], block->pc, LINK_FLOW, block->in);
}

/* Translates a batch from pc on.  False with *why: that cannot be. */
static bool translate(struct translator *translator, uint64_t pc, bool with_entry, const char **why)
{
	struct arena *arena = code_cache_arena(&translator->cache, pc);
	struct plan plan;
	if (arena)
		arena_align(arena, BATCH_ALIGNMENT);
	struct rf_error *error = plan_build(&plan, translator, pc, why);
	const bool has_code = plan.n_items;
	const char *refusal = error ? why_no_memory : NULL;
	if (!error && has_code)
		refusal = make_batch(translator, arena, &plan, with_entry);
	rf_error_destroy(error);
	plan_deinit(&plan);
	if (refusal || has_code)
		*why = refusal; /* not that of the code behind it */
	return has_code && !refusal;
}

/* `with_entry`: an indirect jump or call asks for it, so that its entry should stand before it. */
static struct code_block *find_or_translate(struct translator *translator, uint64_t pc,
					    bool with_entry, const char **why)
{
	struct code_block *block = code_cache_block(&translator->cache, pc);
	if (block)
		return block;
	if (translator->failed) { /* what was begun then must not be built upon */
		*why = why_no_memory;
		return NULL;
	}
	const uint64_t start = clock_now_ns();
	const bool ok =
		(inherit_module(translator, pc) && code_cache_block(&translator->cache, pc)) ||
		translate(translator, pc, with_entry, why);
	translator->spent_ns += clock_now_ns() - start;
	return ok ? code_cache_block(&translator->cache, pc) : NULL;
}

/* Whether the slot that a provisional block goes through has been resolved since. */
static bool got_is_resolved(struct translator *translator, const struct code_block *block)
{
	struct decoded insn;
	uint64_t value, offset = 0;
	do {
		decode_instruction(block->bytes + offset, block->size - offset, block->pc + offset,
				   &insn);
		offset += insn.length;
	} while (offset < block->size && insn.length);
	return translator->source.value(translator->source.context, insn.target, &value) &&
	       !plan_is_unresolved(translator, value);
}

/* Code that was translated before its slot of the GOT was resolved is translated once more. */
static struct code_block *find_resolved(struct translator *translator, uint64_t pc,
					const char **why)
{
	struct code_block *block = find_or_translate(translator, pc, false, why);
	if (!block || !block->provisional || !got_is_resolved(translator, block))
		return block;
	forget(translator, block);
	return find_or_translate(translator, pc, false, why);
}

/* Opens a batch of nothing but a way to the block.  False, with *why: there is no room. */
static bool open_way(struct batch *batch, struct translator *translator,
		     const struct code_block *block, const char **why)
{
	struct arena *arena = &translator->cache.arenas[block->arena];
	if (!code_cache_has_room(arena)) {
		*why = why_full;
		return false;
	}
	batch_open(batch, translator, arena, (uint32_t)(block - translator->cache.blocks));
	return true;
}

/* The cache address of a block's body; 0 with *why when it cannot be made. */
static uint64_t body_of(struct translator *translator, struct code_block *block, const char **why)
{
	struct batch batch;
	if (!block)
		return 0;
	if (!block->body) {
		if (!open_way(&batch, translator, block, why))
			return 0;
		(void)batch_body(&batch, block);
		if (!batch_close(&batch)) {
			*why = why_no_memory;
			return 0;
		}
	}
	return arena_address(&translator->cache.arenas[block->arena], block->body);
}

uint64_t translate_body(struct translator *translator, uint64_t pc, const char **why)
{
	return body_of(translator, find_or_translate(translator, pc, false, why), why);
}

uint64_t translate_entry(struct translator *translator, uint64_t pc, const char **why)
{
	struct batch batch;
	struct code_block *block = find_or_translate(translator, pc, true, why);
	if (!block)
		return 0;
	if (!block->entry) { /* it was translated without one */
		if (!body_of(translator, block, why) || !open_way(&batch, translator, block, why))
			return 0;
		struct label body = label_at(block->body);
		block->entry = emit_entry(&batch, pc);
		emit_jump(batch.arena, &body);
		batch_close(&batch);
	}
	return arena_address(&translator->cache.arenas[block->arena], block->entry);
}

uint64_t translate_landing(struct translator *translator, uint64_t pc, const char **why)
{
	struct code_cache *cache = &translator->cache;
	struct batch batch;
	struct code_block *block = find_or_translate(translator, pc, false, why);
	if (!block)
		return 0;
	if (!code_cache_landing(cache, pc)) {
		if (!body_of(translator, block, why) || !open_way(&batch, translator, block, why))
			return 0;
		struct label body = label_at(block->body);
		emit_landing(&batch, pc, plan_dead_at(translator, pc) == DEAD_ALL);
		emit_jump(batch.arena, &body);
		emit_replaced_landings(&batch);
		batch_close(&batch);
	}
	const struct landing *landing = code_cache_landing(cache, pc);
	return landing ? arena_address(&cache->arenas[landing->arena], landing->at) : 0;
}

/* Links within the block's arena were aimed when it was published; those of the stub's arena get a
 * way to it. */
static void link_stub(struct translator *translator, uint64_t number)
{
	struct code_cache *cache = &translator->cache;
	const struct stub stub = cache->stubs[number];
	struct arena *arena = &cache->arenas[stub.arena];
	struct batch batch;
	if (!code_cache_has_room(arena))
		return;
	batch_open(&batch, translator, arena, NO_BLOCK);
	const uint32_t way = batch_way(&batch, stub.pc, stub.is_call);
	code_cache_aim_links(cache, arena, stub.pc, stub.is_call ? LINK_CALL : LINK_JUMP, OUTSIDE,
			     way, translator->quiet);
	cache->stubs[number].linked = true;
	batch_close(&batch);
}

const struct stub *translate_stub_of(const struct translator *translator, uint64_t number)
{
	const uint64_t first = translator_first_stub(translator), i = number - first;
	return number >= first && i < translator->cache.n_stubs ? &translator->cache.stubs[i]
								: NULL;
}

uint64_t translate_stub(struct translator *translator, uint64_t stub, uint64_t *pc,
			const char **why)
{
	const struct stub *there = translate_stub_of(translator, stub);
	assert(there);
	const struct stub asked = *there;
	*pc = asked.pc;
	struct code_block *block = find_resolved(translator, *pc, why);
	if (!block)
		return 0;
	if (!block->provisional && asked.arena != block->arena && !asked.linked)
		link_stub(translator, stub - translator_first_stub(translator));
	return body_of(translator, block, why);
}

/* ---- changes ---- */

/* Who jumps or returns to pc through a table is to ask. */
static void forget_entry(struct translator *translator, uint64_t key)
{
	const struct new_entry none = {.key = key, .replaces = true};
	translator->failed |= !rf_array_push(translator->new_entries, translator->n_new_entries,
					     translator->cap_new_entries, none);
}

/* Forgets a block and what runs on into it, with their entries or not.  Returns how many were not
 * forgotten yet. */
static size_t forget_run(struct translator *translator, size_t i, bool entries, uint64_t *lowest)
{
	struct code_cache *cache = &translator->cache;
	size_t n = 0;
	for (;; i--) {
		struct code_block *block = &cache->blocks[i];
		if (!block->stale) {
			*lowest = block->pc < *lowest ? block->pc : *lowest;
			forget(translator, block);
			n++;
			if (entries) {
				forget_entry(translator, block->pc);
				forget_entry(translator, block->pc | RETURN_KEY);
			}
		}
		if (!cache->blocks[i].falls_in)
			return n;
	}
}

size_t translate_invalidate(struct translator *translator, uint64_t *start, uint64_t end)
{
	struct code_cache *cache = &translator->cache;
	const uint64_t from = *start;
	if (from >= cache->highest || end <= cache->lowest)
		return 0;
	size_t n = 0;
	for (size_t i = 0; i < cache->n_blocks; i++) {
		const struct code_block *block = &cache->blocks[i];
		if (!block->stale && block->pc < end && block->pc + block->size > from)
			n += forget_run(translator, i, false, start);
	}
	return n;
}

/* ---- hot code ---- */

void translate_hot(struct translator *translator)
{
	for (size_t i = 0; i < translator->hot.n_blocks; i++) {
		const char *ignored; /* a thread that comes there is told */
		const struct hot_block block = translator->hot.blocks[i];
		if (translator->is_held && translator->is_held(translator->held_context, block.pc))
			continue;
		if (block.has_entry)
			(void)translate_entry(translator, block.pc, &ignored);
		else
			(void)translate_body(translator, block.pc, &ignored);
	}
}

struct range {
	uint64_t start, end;
};

static int by_start(const void *left, const void *right)
{
	const struct range *a = left, *b = right;
	return a->start < b->start ? -1 : a->start > b->start;
}

/* The code of hot blocks, by start, each range with the end of the farthest so far; *n of them; to
 * be freed.  NULL: memory is short. */
static struct range *hot_ranges(const struct translator *translator, size_t *n)
{
	const struct code_cache *cache = &translator->cache;
	struct range *ranges = calloc(cache->n_blocks + 1, sizeof(*ranges));
	*n = 0;
	for (size_t i = 0; ranges && i < cache->n_blocks; i++) {
		const struct code_block *block = &cache->blocks[i];
		if (!block->stale && hot_code_weight(&translator->hot, block->pc))
			ranges[(*n)++] = (struct range){block->pc, block->pc + block->size};
	}
	if (ranges)
		qsort(ranges, *n, sizeof(*ranges), by_start);
	for (size_t i = 1; ranges && i < *n; i++)
		if (ranges[i].end < ranges[i - 1].end)
			ranges[i].end = ranges[i - 1].end;
	return ranges;
}

static bool is_within(const struct range *ranges, size_t n, uint64_t pc)
{
	size_t low = 0, high = n; /* the first one that begins behind pc is from low to high */
	while (low < high) {
		const size_t middle = (low + high) / 2;
		if (ranges[middle].start <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	return low && pc < ranges[low - 1].end;
}

/* Ways to and out of what is laid out anew are counted, some for each block. */
static bool has_counters(const struct translator *translator, size_t n_blocks)
{
	return translator->cache.n_counters + 16 * n_blocks < translator_counters(translator);
}

void translate_hot_anew(struct translator *translator)
{
	uint64_t lowest = UINT64_MAX;
	size_t n;
	struct range *ranges = hot_ranges(translator, &n);
	const bool has_room = has_counters(translator, n);
	for (size_t i = 0; ranges && has_room && i < translator->cache.n_blocks; i++) {
		const struct code_block *block = &translator->cache.blocks[i];
		if (!block->stale && is_within(ranges, n, block->pc))
			forget_run(translator, i, true, &lowest);
	}
	free(ranges);
	translate_hot(translator);
}
