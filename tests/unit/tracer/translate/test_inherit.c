/* Code that is inherited beside code that is translated: a process gets what another one, with its
 * modules and arenas elsewhere, has translated, and a third one, which has all where the heir has
 * it, translates the same for itself.  All that they have made must be the same, byte by byte, and
 * stay the same whatever they are asked for from then on. */
#include "tests/unit/tracer/stock/same_code.h"
#include "tests/unit/tracer/translate/lockstep.h"
#include "tests/unit/tracer/translate/piece_array.h"
#include "tests/unit/tracer/translate/translated_process.h"
#include "tracer/translate/inherit.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 60
#define ROUNDS_SLOW 1500
#define REQUESTS 120

/* ---- comparison ---- */

#define SAME(member) cr_assert_eq(a->member, b->member, "%s of %zu", #member, i)
#define EACH(type, list, n)                                       \
	cr_assert_eq(x->n, y->n, "%s: %zu, %zu", #n, x->n, y->n); \
	for (size_t i = 0; i < x->n; i++)                         \
		for (const type *a = &x->list[i], *b = &y->list[i], *end = a + 1; a < end; a++)

/* Code that was forgotten is left as it was. */
static void compare_arenas(const struct code_cache *cache, const struct arena *x,
			   const struct arena *y)
{
	size_t n, n_other;
	struct piece *pieces = piece_array(x, &n), *others = piece_array(y, &n_other);
	cr_assert_eq(x->used, y->used);
	cr_assert_eq(n, n_other);
	for (size_t i = 0; i < n; i++) {
		const struct piece *a = &pieces[i], *b = &others[i];
		const size_t end = i + 1 < n ? a[1].cache : x->used;
		SAME(cache);
		SAME(block);
		SAME(orig);
		SAME(kind);
		SAME(reg);
		SAME(spilled);
		SAME(in_loop);
		if (a->block == NO_BLOCK || !cache->blocks[a->block].stale)
			cr_assert(memcmp(x->host + a->cache, y->host + a->cache, end - a->cache) ==
					  0,
				  "piece %zu of kind %d", i, a->kind);
	}
	free(pieces);
	free(others);
}

static void compare_blocks(const struct code_cache *x, const struct code_cache *y)
{
	EACH(struct code_block, blocks, n_blocks)
	{
		SAME(stale);
		if (a->stale)
			continue;
		SAME(pc);
		SAME(size);
		SAME(n_insns);
		SAME(arena);
		SAME(falls_in);
		SAME(provisional);
		SAME(dead);
		SAME(inner);
		SAME(body);
		SAME(called);
		SAME(entry);
		SAME(counter);
		SAME(counted_at);
		SAME(n_untraced);
		SAME(in);
		SAME(out);
		SAME(module);
		SAME(module_offset);
		cr_assert(memcmp(a->bytes, b->bytes, a->size) == 0);
		cr_assert_eq(code_cache_find(x, &x->block_of_pc, a->pc),
			     code_cache_find(y, &y->block_of_pc, a->pc));
	}
}

/* Jumps to where no code is, as there are in code that begins amid an instruction, lead to no block
 * ever. */
static bool leads_to_code(const struct process *process, const struct link *link)
{
	uint64_t offset;
	return module_of(process, link->target, &offset) < MODULES;
}

static void compare_links(const struct process *one, const struct process *other)
{
	const struct code_cache *x = &one->translator.cache, *y = &other->translator.cache;
	EACH(struct link, links, n_links)
	{
		SAME(target);
		SAME(site);
		SAME(junction);
		SAME(arena);
		SAME(kind);
		SAME(is_stub);
		if (!leads_to_code(one, a))
			continue;
		SAME(next);
		cr_assert_eq(code_cache_find(x, &x->links_to, a->target),
			     code_cache_find(y, &y->links_to, a->target));
	}
	EACH(struct stub, stubs, n_stubs)
	{
		SAME(pc);
		SAME(arena);
		SAME(is_call);
		SAME(linked);
	}
	EACH(struct landing, landings, n_landings)
	{
		SAME(pc);
		SAME(at);
		SAME(behind);
		SAME(next);
		SAME(arena);
		SAME(keeps_flags);
		cr_assert_eq(code_cache_find(x, &x->landing_of_pc, a->pc),
			     code_cache_find(y, &y->landing_of_pc, a->pc));
		cr_assert_eq(code_cache_find(x, &x->calls, a->pc),
			     code_cache_find(y, &y->calls, a->pc));
	}
	cr_assert(memcmp(x->landing_of_cell, y->landing_of_cell, sizeof(x->landing_of_cell)) == 0);
}

static void compare_counters(const struct code_cache *x, const struct code_cache *y)
{
	cr_assert_eq(x->n_counters, y->n_counters);
	cr_assert_eq(x->n_junctions, y->n_junctions);
	EACH(struct unit_counter, units, n_units)
	{
		SAME(counter);
		SAME(module);
		SAME(module_offset);
	}
	EACH(struct crossing, crossings, n_crossings)
	{
		SAME(from);
		SAME(to);
		SAME(counter);
	}
	EACH(struct derived, derived, n_derived)
	{
		SAME(block);
		SAME(at_in);
	}
}

static void compare_groups(const struct trace_config *x, const struct trace_config *y)
{
	cr_assert_eq(x->n_groups, y->n_groups);
	cr_assert_eq(x->n_numbers, y->n_numbers);
	for (uint32_t k = 0; k < x->n_groups; k++) {
		const struct trace_group *one = trace_config_group(x, k);
		const struct trace_group *other = trace_config_group(y, k);
		cr_assert_eq(one->n, other->n);
		cr_assert_eq(one->form, other->form);
		for (size_t i = 0; i < one->n; i++) {
			const struct trace_operand *a = &one->operands[i], *b = &other->operands[i];
			SAME(offset);
			SAME(module);
			SAME(number);
			SAME(at);
			SAME(bytes);
			SAME(access);
			SAME(lanes);
			SAME(scale);
			SAME(index_bits);
			SAME(base);
			SAME(n_operands);
		}
	}
}

static void compare(const struct process *one, const struct process *other)
{
	const struct translator *x = &one->translator, *y = &other->translator;
	compare_blocks(&x->cache, &y->cache);
	for (unsigned m = 0; m < MODULES; m++)
		compare_arenas(&x->cache, &x->cache.arenas[m], &y->cache.arenas[m]);
	compare_links(one, other);
	compare_counters(&x->cache, &y->cache);
	if (x->trace)
		compare_groups(x->trace, y->trace);
	cr_assert(!x->failed && !y->failed);
}

/* Where returns to one address of a cell must keep the flags, those to all others do. */
static void check_cells(struct code_cache *cache)
{
	for (size_t i = 0; i < cache->n_landings; i++) {
		const struct landing *landing = code_cache_landing(cache, cache->landings[i].pc);
		for (uint32_t k = cache->landing_of_cell[cache->landings[i].pc & 0xffff]; k;
		     k = cache->landings[k - 1].next) {
			const struct landing *other =
				code_cache_landing(cache, cache->landings[k - 1].pc);
			cr_assert(!landing || !other || landing->keeps_flags == other->keeps_flags);
		}
	}
}

/* A later entry of the same key takes the place of this one. */
static bool is_replaced(const struct translator *translator, size_t i)
{
	for (size_t k = i + 1; k < translator->n_new_entries; k++)
		if (translator->new_entries[k].key == translator->new_entries[i].key)
			return true;
	return false;
}

/* The table of a process leads to what is found by the address. */
static void check_entries(struct process *process)
{
	struct translator *translator = &process->translator;
	struct code_cache *cache = &translator->cache;
	for (size_t i = 0; i < translator->n_new_entries; i++) {
		const struct new_entry *entry = &translator->new_entries[i];
		const uint64_t pc = entry->key & ~RETURN_KEY;
		const struct code_block *block = code_cache_block(cache, pc);
		const struct landing *landing = code_cache_landing(cache, pc);
		if (is_replaced(translator, i))
			continue;
		cr_assert(entry->key & RETURN_KEY ? landing != NULL : block != NULL);
		const uint64_t there =
			entry->key & RETURN_KEY
				? arena_address(&cache->arenas[landing->arena], landing->at)
				: arena_address(&cache->arenas[block->arena], block->entry);
		cr_assert_eq(entry->entry, there);
	}
}

/* ---- rounds ---- */

/* Of all, of some, or of no lines. */
static uint64_t random_classes(void)
{
	const uint64_t classes = random_next() & random_next() & random_next();
	return random_next() % 4 ? classes : random_next() % 2 ? UINT64_MAX : 0;
}

/* Some of the code has run. */
static void pretend_runs(struct process *process)
{
	for (size_t i = 0; i < process->translator.cache.n_blocks; i++)
		process->translator.cache.blocks[i].has_row = random_next() % 2;
}

static void wake_all(struct process *heir)
{
	for (unsigned m = 0; m < MODULES; m++)
		(void)inherit_module(&heir->translator, heir->modules[m]);
}

static void ask_all(struct process *process, const struct request *requests, size_t n)
{
	for (size_t i = 0; i < n; i++)
		(void)ask(process, &requests[i]);
}

/* A process at random places that gets what another one has translated, as it is or through a file;
 * the other one is closed. */
static void succeed(struct process *heir, struct process *from, const struct places *places,
		    const struct setting *setting)
{
	pretend_runs(from);
	struct kept_code *kept = kept_code_take(&from->translator, random_next() % 2);
	cr_assert(kept);
	close_process(from);
	if (random_next() % 2)
		kept = keep_in_file(kept, 0);
	open_process(heir, places, setting);
	inherit_all(&heir->translator, kept);
	kept_code_release(kept);
	wake_all(heir);
	check_entries(heir);
	check_cells(&heir->translator.cache);
}

/* `step`: by multiples of how many bytes modules move.  Returns how many blocks were inherited. */
static size_t play_round(size_t n, uint64_t step)
{
	const struct setting setting = {
		.classes = random_classes(),
		.loop_is_slow = random_next() % 2,
		.batch_insns = random_next() % 2 ? 400 : 1 + random_next() % 60,
		.is_far = random_next() % 8 == 0,
	};
	const unsigned generations = 1 + (unsigned)(random_next() % 3);
	struct request *requests = calloc(n * (generations + 1), sizeof(*requests));
	struct process heir, last, fresh;
	struct places places = random_places(&setting, step);
	cr_assert(requests);
	for (size_t i = 0; i < n * (generations + 1); i++)
		requests[i] = random_request();
	for (unsigned m = 0; m < MODULES; m++) /* what leads to unknown modules differs */
		requests[m] = (struct request){2, m, 4096, 0};
	open_process(&last, &places, &setting);
	ask_all(&last, requests, n);
	for (unsigned g = 0; g < generations; g++) {
		places = random_places(&setting, step);
		succeed(&heir, &last, &places, &setting);
		if (g + 1 < generations)
			ask_all(&heir, requests + (g + 1) * n, n);
		last = heir;
		last.translator.source.context = &last;
	}
	open_process(&fresh, &places, &setting);
	ask_all(&fresh, requests, generations * n);
	if (step == CELLS)
		compare(&last, &fresh);
	for (size_t i = generations * n; i < (generations + 1) * n; i++) {
		const uint64_t answer = ask(&last, &requests[i]), other = ask(&fresh, &requests[i]);
		cr_assert(step != CELLS || answer == other);
	}
	if (step == CELLS)
		compare(&last, &fresh);
	check_cells(&last.translator.cache);
	const size_t n_inherited = last.translator.cache.n_inherited;
	close_process(&last);
	close_process(&fresh);
	free(requests);
	return n_inherited;
}

Test(inherit, gives_what_a_translation_makes)
{
	const int rounds = lockstep_is_slow_run() ? ROUNDS_SLOW : ROUNDS;
	uint64_t n_inherited = 0;
	random_begin(lockstep_seed());
	for (int i = 0; i < rounds; i++)
		n_inherited += play_round(MODULES + random_next() % REQUESTS,
					  random_next() % 4 ? CELLS : 4096);
	printf("%d rounds (RFPROF_SEED=%" PRIu64 "): %" PRIu64 " blocks inherited\n", rounds,
	       lockstep_seed(), n_inherited);
	cr_assert_gt(n_inherited, (uint64_t)rounds * 50);
}

/* Code that has changed is translated anew. */
Test(inherit, leaves_changed_code_asleep)
{
	const struct setting setting = {.batch_insns = 400};
	struct process first, heir;
	random_begin(1);
	struct places places = random_places(&setting, CELLS);
	const char *why;
	open_process(&first, &places, &setting);
	cr_assert(translate_body(&first.translator, places.modules[0] + 4096, &why));
	struct kept_code *kept = kept_code_take(&first.translator, false);
	cr_assert(kept);
	cr_assert_eq(kept->n_modules, 1);
	kept->code[kept->runs[0].at + 1] ^= 1;
	places = random_places(&setting, CELLS);
	open_process(&heir, &places, &setting);
	inherit_all(&heir.translator, kept);
	const size_t n_inherited = heir.translator.cache.n_blocks;
	cr_assert(!inherit_module(&heir.translator, places.modules[0] + 4096));
	cr_assert(!code_cache_block(&heir.translator.cache, places.modules[0] + 4096));
	cr_assert(translate_body(&heir.translator, places.modules[0] + 4096, &why));
	cr_assert_gt(heir.translator.cache.n_blocks, n_inherited);
	kept_code_release(kept);
	close_process(&first);
	close_process(&heir);
}
