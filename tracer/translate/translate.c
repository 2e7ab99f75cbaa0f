/* Answers requests for translated code: plans, lays out and emits a batch where there is none yet,
 * and forgets what the program has changed. */
#include "tracer/translate/translate.h"

#include "base/assert.h"
#include "base/clock.h"
#include "tracer/translate/block.h"
#include "tracer/translate/kept.h"
#include "tracer/translate/landing.h"
#include "tracer/translate/replay.h"
#include "tracer/translate/trace_emit.h"
#include "tracer/translate/transfer.h"
#include "tracer/translate/way.h"

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
	for (size_t b = 0; b < layout.n_blocks; b++)
		if (layout.blocks[b].first)
			record_look_up(batch->translator, LOOK_UP_LINKS,
				       plan->items[layout.blocks[b].first].insn.pc);
	batch->layout = &layout;
	batch->entry_due = with_entry ? plan->items[0].insn.pc : 0;
	emit_blocks(batch, plan);
	emit_cold_calls(batch);
	emit_got_misses(batch);
	emit_cold_checks(batch);
	batch->layout = NULL;
	layout_deinit(&layout);
	record_end(batch, plan, with_entry);
}

/* Makes a batch of a plan, or of one that is kept.  Returns NULL, or why that cannot be. */
static const char *make_batch(struct translator *translator, struct arena *arena,
			      const struct plan *plan, const struct kept_batch *kept, uint64_t pc,
			      bool with_entry)
{
	const size_t n_items = kept ? kept->n_items : plan->n_items;
	struct batch batch;
	if (!arena || translator->cache.n_counters + 2 * n_items > translator_counters(translator))
		return why_full;
	batch_open(&batch, translator, arena, NO_BLOCK);
	if (kept)
		replay_batch(&batch, kept, pc);
	else
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
	u64_map_remove(&cache->block_of_pc, block->pc);
	u64_map_remove(&cache->landing_of_pc, block->pc);
	u64_map_remove(&cache->calls, block->pc + block->size);
	for (int i = 0; i < cache->n_arenas; i++) {
		sever(translator, &cache->arenas[i], block->pc, LINK_JUMP, OUTSIDE);
		sever(translator, &cache->arenas[i], block->pc, LINK_CALL, OUTSIDE);
	}
	if (block->in != OUTSIDE)
		sever(translator, &cache->arenas[block->arena], block->pc, LINK_FLOW, block->in);
}

/* The place of the code at pc among the batches that are kept; 0: none. */
static uint64_t place_of(const struct translator *translator, uint64_t pc)
{
	uint32_t module;
	uint64_t offset;
	if (!translator->kept)
		return 0;
	translator->source.locate(translator->source.context, pc, &module, &offset);
	return kept_key(module, offset);
}

/* Which place was translated behind which, and where the place's module is. */
static void note_follower(struct translator *translator, uint64_t pc, uint64_t key, bool with_entry)
{
	struct follow *follow = &translator->follow;
	struct kept_place *last = kept_find(translator->kept, follow->place);
	const uint32_t module = kept_module(key);
	if (!kept_find(translator->kept, key))
		return;
	if (last) {
		last->follower = key;
		last->follower_with_entry = with_entry;
	}
	follow->place = key;
	size_t i = 0;
	while (i < follow->n && follow->modules[i].module != module)
		i++;
	if (i == MAX_FOLLOWED)
		return;
	follow->n += i == follow->n;
	follow->modules[i].module = module;
	follow->modules[i].pc = pc - kept_offset(key);
}

/* Translates a batch from pc on.  False with *why: that cannot be. */
static bool translate(struct translator *translator, uint64_t pc, bool with_entry, const char **why)
{
	struct arena *arena = code_cache_arena(&translator->cache, pc);
	const uint64_t key = arena ? place_of(translator, pc) : 0;
	if (arena)
		arena_align(arena, BATCH_ALIGNMENT);
	const struct kept_batch *kept =
		key ? replay_find(translator, arena, pc, key, with_entry) : NULL;
	if (kept) {
		*why = make_batch(translator, arena, NULL, kept, pc, with_entry);
		note_follower(translator, pc, key, with_entry);
		translator->follow.is_replay = true;
		return !*why;
	}
	struct plan plan;
	if (key)
		record_begin(translator, arena, pc, key);
	struct rf_error *error = plan_build(&plan, translator, pc, why);
	const bool has_code = plan.n_items;
	const char *refusal = error ? why_no_memory : NULL;
	if (!error && has_code)
		refusal = make_batch(translator, arena, &plan, NULL, pc, with_entry);
	record_drop(translator);
	if (key)
		note_follower(translator, pc, key, with_entry);
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
	const bool ok = translate(translator, pc, with_entry, why);
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
		block->entry = (uint32_t)batch.arena->used;
		emit_entry(&batch, pc);
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

/* ---- ahead ---- */

#define MOST_AHEAD 32 /* batches for one request */
#define MOST_HOPS 128 /* places looked at, with those that are translated already */

/* The address of a place, or 0. */
static uint64_t pc_of_place(const struct translator *translator, uint64_t key)
{
	const struct follow *follow = &translator->follow;
	for (size_t i = 0; i < follow->n; i++) {
		const uint64_t pc = follow->modules[i].pc + kept_offset(key);
		if (follow->modules[i].module == kept_module(key))
			return place_of(translator, pc) == key ? pc : 0;
	}
	return 0;
}

/* What nobody may ever run must not take the room of what will. */
static bool has_spare_room(const struct translator *translator, const struct arena *arena)
{
	const struct trace_config *trace = translator->trace;
	return arena && arena->used < arena->size / 2 &&
	       translator->cache.n_counters < FIRST_PLAIN_COUNTER / 2 &&
	       (!trace || trace->n_groups < TRACE_GROUP_MAX / 2);
}

/* False: the batch is not the same here. */
static bool replay_place(struct translator *translator, uint64_t pc, uint64_t key, bool with_entry)
{
	struct arena *arena = code_cache_arena(&translator->cache, pc);
	if (!has_spare_room(translator, arena))
		return false;
	const size_t used = arena->used;
	arena_align(arena, BATCH_ALIGNMENT);
	const struct kept_batch *kept = replay_find(translator, arena, pc, key, with_entry);
	if (!kept)
		arena->used = used;
	return kept && !make_batch(translator, arena, NULL, kept, pc, with_entry);
}

void translate_ahead(struct translator *translator)
{
	struct follow *follow = &translator->follow;
	const uint64_t start = clock_now_ns();
	if (!follow->is_replay)
		return;
	follow->is_replay = false;
	for (int hops = 0, made = 0; hops < MOST_HOPS && made < MOST_AHEAD; hops++) {
		const struct kept_place *place = kept_find(translator->kept, follow->place);
		const uint64_t next = place ? place->follower : 0;
		const uint64_t pc = next ? pc_of_place(translator, next) : 0;
		if (!pc)
			break;
		if (!code_cache_block(&translator->cache, pc)) {
			if (!replay_place(translator, pc, next, place->follower_with_entry))
				break;
			made++;
		}
		follow->place = next;
	}
	translator->spent_ns += clock_now_ns() - start;
}

/* ---- changes ---- */

/* Forgets a block and what runs on into it.  Returns how many were not forgotten yet. */
static size_t forget_run(struct translator *translator, size_t i, uint64_t *lowest)
{
	struct code_cache *cache = &translator->cache;
	size_t n = 0;
	for (;; i--) {
		struct code_block *block = &cache->blocks[i];
		if (!block->stale) {
			*lowest = block->pc < *lowest ? block->pc : *lowest;
			forget(translator, block);
			n++;
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
			n += forget_run(translator, i, start);
	}
	return n;
}
