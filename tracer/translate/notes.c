/* Takes the notes of a batch, and answers what it asks. */
#include "tracer/translate/notes.h"

#include "base/array.h"

void recorder_destroy(struct recorder *recorder)
{
	if (!recorder)
		return;
	free(recorder->fields.items);
	free(recorder->ranges);
	free(recorder->code);
	free(recorder->look_ups);
	free(recorder->got_jumps);
	free(recorder->unit_pcs);
	free(recorder->calls);
	free(recorder->exclusive);
	free(recorder->groups);
	free(recorder->operands);
	free(recorder->values);
	free(recorder);
}

/* ---- look-ups ---- */

static bool has_links(const struct code_cache *cache, const struct arena *arena, size_t n_links,
		      bool any, uint64_t pc)
{
	const uint32_t *first = u64_map_find(&cache->links_to, pc);
	for (uint32_t i = first ? *first : UINT32_MAX; i != UINT32_MAX; i = cache->links[i].next) {
		const struct link *link = &cache->links[i];
		if (i < n_links &&
		    (any || (&cache->arenas[link->arena] == arena && link->kind == LINK_CALL)))
			return true;
	}
	return false;
}

static bool has_call(const struct code_cache *cache, const struct arena *arena, uint64_t start,
		     uint64_t return_pc)
{
	const uint32_t *call = u64_map_find(&cache->calls, return_pc);
	return call && *call >> CALL_ARENA_SHIFT == (uint32_t)(arena - cache->arenas) &&
	       (*call & CALL_OFFSET) < start;
}

static bool keeps_flags(const struct code_cache *cache, uint32_t n_landings, uint64_t pc)
{
	for (uint32_t i = cache->landing_of_cell[pc & 0xffff]; i; i = cache->landings[i - 1].next)
		if (i <= n_landings && cache->landings[i - 1].keeps_flags &&
		    cache->landings[i - 1].pc != pc)
			return true;
	return false;
}

static uint8_t allocator_at(const struct translator *translator, uint64_t pc)
{
	const struct code_source *source = &translator->source;
	if (!translator_notes_allocators(translator) || !source->allocator)
		return 0;
	return (uint8_t)(source->allocator(source->context, pc) + 1);
}

uint8_t record_answer(const struct translator *translator, const struct arena *arena,
		      const struct origin *origin, enum look_up_kind kind, uint64_t pc)
{
	const struct code_cache *cache = &translator->cache;
	const uint32_t *block;
	switch (kind) {
	case LOOK_UP_BLOCK:
		block = u64_map_find(&cache->block_of_pc, pc);
		return block && *block < origin->block
			       ? (uint8_t)(1 | cache->blocks[*block].dead << 1)
			       : 0;
	case LOOK_UP_LINKS:
		return has_links(cache, arena, origin->link, true, pc);
	case LOOK_UP_CALL_LINKS:
		return has_links(cache, arena, origin->link, false, pc);
	case LOOK_UP_CALL:
		return has_call(cache, arena, origin->start, pc);
	case LOOK_UP_KEEPS_FLAGS:
		return keeps_flags(cache, origin->landing, pc);
	case LOOK_UP_ALLOCATOR:
		return allocator_at(translator, pc);
	}
	return 0;
}

/* ---- notes ---- */

#define NOTE(recorder, name, note) \
	((recorder)->fits &=       \
	 rf_array_push((recorder)->name, (recorder)->n_##name, (recorder)->cap_##name, note))

void record_unfit(const struct translator *translator)
{
	if (translator->recorder)
		translator->recorder->fits = false;
}

void record_code(const struct translator *translator, uint64_t pc, const uint8_t *bytes, size_t n)
{
	struct recorder *recorder = translator->recorder;
	if (!recorder)
		return;
	struct code_range *last =
		recorder->n_ranges ? &recorder->ranges[recorder->n_ranges - 1] : NULL;
	const struct code_range range = {pc, (uint32_t)n};
	if (last && last->pc + last->size == pc)
		last->size += (uint32_t)n;
	else
		NOTE(recorder, ranges, range);
	for (size_t i = 0; i < n; i++)
		NOTE(recorder, code, bytes[i]);
}

void record_look_up(const struct translator *translator, enum look_up_kind kind, uint64_t pc)
{
	struct recorder *recorder = translator->recorder;
	if (!recorder)
		return;
	const int64_t at = (int64_t)(pc - recorder->origin.pc);
	const struct look_up look_up = {
		.at = (int32_t)at,
		.kind = (uint8_t)kind,
		.answer = record_answer(translator, recorder->arena, &recorder->origin, kind, pc),
	};
	if (at != look_up.at)
		recorder->fits = false;
	else
		NOTE(recorder, look_ups, look_up);
}

void record_unit(const struct translator *translator, uint64_t pc)
{
	if (translator->recorder)
		NOTE(translator->recorder, unit_pcs, pc);
}

void record_got_jump(const struct translator *translator, const struct got_jump *jump)
{
	if (translator->recorder)
		NOTE(translator->recorder, got_jumps, *jump);
}

uint64_t record_got_link(const struct translator *translator)
{
	struct recorder *recorder = translator->recorder;
	if (!recorder || !recorder->n_got_jumps)
		return 0;
	const uint64_t number = recorder->n_got_jumps - 1;
	recorder->got_jumps[number].link =
		(uint32_t)(translator->cache.n_links - recorder->origin.link);
	return number;
}

void record_call(const struct translator *translator, uint64_t return_pc, uint32_t at)
{
	const struct kept_call call = {return_pc, at};
	if (translator->recorder)
		NOTE(translator->recorder, calls, call);
}

void record_jump_to_call(const struct translator *translator, uint64_t return_pc, uint32_t at)
{
	struct recorder *recorder = translator->recorder;
	if (recorder && at < recorder->origin.start)
		arena_note_field(recorder->arena, FIELD_TO_CALL, -4, return_pc);
}

void record_exclusive(const struct translator *translator)
{
	struct recorder *recorder = translator->recorder;
	const uint32_t number =
		recorder ? (uint32_t)translator->cache.n_landings - recorder->origin.landing : 0;
	if (recorder)
		NOTE(recorder, exclusive, number);
}

static void note_group(struct recorder *recorder, const struct trace_group *group, uint32_t module)
{
	const struct kept_group kept = {group->n, group->form};
	NOTE(recorder, groups, kept);
	for (size_t i = 0; i < group->n; i++) {
		NOTE(recorder, operands, group->operands[i]);
		recorder->fits &= group->operands[i].module == module;
	}
}

void record_groups(const struct translator *translator, uint32_t module)
{
	struct recorder *recorder = translator->recorder;
	const struct trace_config *trace = translator->trace;
	if (!recorder || !trace)
		return;
	for (uint32_t i = recorder->origin.group; i < trace->n_groups; i++)
		note_group(recorder, trace_config_group(trace, i), module);
	recorder->fits &= trace->n_groups <= TRACE_GROUP_MAX; /* else some are missing */
}

/* ---- the place of a batch ---- */

struct origin record_origin(const struct translator *translator, const struct arena *arena,
			    uint64_t pc)
{
	const struct code_cache *cache = &translator->cache;
	const struct trace_config *trace = translator->trace;
	return (struct origin){
		.pc = pc,
		.address = arena_address(arena, (uint32_t)arena->used),
		.start = arena->used,
		.block = (uint32_t)cache->n_blocks,
		.counter = cache->n_counters,
		.junction = cache->n_junctions ? (uint32_t)cache->n_junctions : OUTSIDE + 1,
		.link = (uint32_t)cache->n_links,
		.landing = (uint32_t)cache->n_landings,
		.group = trace ? trace->n_groups : 0,
		.number = trace ? trace->n_numbers : 0,
	};
}
