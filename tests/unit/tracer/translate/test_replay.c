/* Batches that are replayed beside batches that are translated: two processes have the same code at
 * the same addresses, the same arenas, and ask for the same; only one of them shares what a third
 * process, with the code elsewhere, has translated.  All that they have made must be the same. */
#include "tests/unit/tracer/translate/lockstep.h"
#include "tracer/translate/kept.h"
#include "tracer/translate/trace_config.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARENA_SIZE (8u << 20)
#define ROUNDS 40
#define ROUNDS_SLOW 1000
#define REQUESTS 120

/* The code of the C library, as this process has it. */
static struct range code;

struct process {
	struct translator translator;
	uint64_t shift; /* of the code, from where it is in this process */
	uint64_t seed;  /* of what the slots of the GOT hold */
	uint8_t *memory[2];
};

static uint64_t mix(uint64_t n)
{
	n = (n ^ n >> 31) * 0x9e3779b97f4a7c15u;
	return (n ^ n >> 29) * 0xbf58476d1ce4e5b9u >> 7;
}

static uint64_t state;

static uint64_t next_random(void)
{
	return mix(++state);
}

static void find_code(void)
{
	char line[512], permissions[8];
	FILE *maps = fopen("/proc/self/maps", "re");
	cr_assert(maps);
	while (fgets(line, sizeof(line), maps))
		if (strstr(line, "libc.so") && !code.start)
			if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s", &code.start, &code.end,
				   permissions) != 3 ||
			    permissions[2] != 'x')
				code.start = 0;
	fclose(maps);
	cr_assert(code.start);
}

static size_t read_code(void *context, uint64_t pc, uint8_t *buffer, size_t size, const char **why)
{
	const struct process *process = context;
	const uint64_t here = pc - process->shift;
	*why = "none";
	if (!in_range(&code, here))
		return 0;
	const size_t n = code.end - here < size ? code.end - here : size;
	memcpy(buffer, (const void *)here, n);
	return n;
}

static void locate(void *context, uint64_t pc, uint32_t *module, uint64_t *offset)
{
	const struct process *process = context;
	*module = 7;
	*offset = pc - process->shift - code.start;
}

/* Most slots lead to the same function in all processes, some do not. */
static bool value(void *context, uint64_t address, uint64_t *out)
{
	const struct process *process = context;
	const uint64_t slot = address - process->shift;
	const uint64_t seed = mix(slot) % 4 ? 0 : process->seed;
	*out = code.start + process->shift + mix(slot ^ seed) % (code.end - code.start);
	return true;
}

/* Some of the code is that of allocators, a little of it only in some processes. */
static int allocator(void *context, uint64_t pc)
{
	const struct process *process = context;
	const uint64_t place = mix(pc - process->shift);
	return place % 50 == 0 && (place % 400 || process->seed % 2) ? (int)(place / 400 % 8) : -1;
}

/* What all processes of a round have. */
struct setting {
	uint64_t arenas[2];
	uint64_t classes; /* that are traced; 0: nothing is */
	size_t batch_insns;
};

static void open_process(struct process *process, uint64_t shift, const struct setting *setting,
			 struct kept *kept)
{
	const uint64_t *arenas = setting->arenas;
	*process = (struct process){.shift = shift};
	process->translator.source =
		(struct code_source){process, read_code, locate, value, allocator};
	process->translator.batch_insns = setting->batch_insns;
	process->translator.trace = setting->classes ? trace_config_create(setting->classes) : NULL;
	process->translator.quiet = true;
	process->translator.kept = kept;
	for (int i = 0; i < 2; i++) {
		process->memory[i] = aligned_alloc(4096, ARENA_SIZE);
		cr_assert(process->memory[i]);
		code_cache_add_arena(&process->translator.cache, code.start + shift + arenas[i],
				     process->memory[i], ARENA_SIZE);
	}
}

static void close_process(struct process *process)
{
	code_cache_deinit(&process->translator.cache);
	trace_config_destroy(process->translator.trace);
	free(process->translator.new_entries);
	for (int i = 0; i < 2; i++)
		free(process->memory[i]);
}

struct request {
	unsigned kind;
	uint64_t offset, number;
};

static struct request random_request(uint64_t offset)
{
	return (struct request){(unsigned)(next_random() % 16), offset, next_random()};
}

/* Returns what it is answered. */
static uint64_t ask(struct process *process, const struct request *request)
{
	struct translator *translator = &process->translator;
	uint64_t pc = code.start + process->shift + request->offset, end = pc + 40;
	const char *why = NULL;
	switch (request->kind) {
	case 0:
		return translate_entry(translator, pc, &why);
	case 1:
		return translate_landing(translator, pc, &why);
	case 2:
		return translate_body(translator, pc, &why);
	case 3:
		return request->number % 8 ? 0 : translate_invalidate(translator, &pc, end);
	default:
		return translator->cache.n_stubs
			       ? translate_stub(translator,
						request->number % translator->cache.n_stubs, &pc,
						&why)
			       : 0;
	}
}

/* What one has replayed ahead, the other is asked for, batch by batch. */
static void ask_ahead(struct process *sharing, struct process *fresh)
{
	const struct code_cache *cache = &sharing->translator.cache;
	const char *why = NULL;
	translate_ahead(&sharing->translator);
	while (fresh->translator.cache.n_blocks < cache->n_blocks) {
		const struct code_block *block = &cache->blocks[fresh->translator.cache.n_blocks];
		cr_assert(block->entry ? translate_entry(&fresh->translator, block->pc, &why)
				       : translate_body(&fresh->translator, block->pc, &why));
	}
}

/* ---- comparison ---- */

#define SAME(member) cr_assert_eq(a->member, b->member, "%s of %zu", #member, i)
#define EACH(type, list, n)                 \
	cr_assert_eq(x->n, y->n, "%s", #n); \
	for (size_t i = 0; i < x->n; i++)   \
		for (const type *a = &x->list[i], *b = &y->list[i], *end = a + 1; a < end; a++)

static void compare_arenas(const struct arena *x, const struct arena *y)
{
	cr_assert_eq(x->used, y->used);
	cr_assert(memcmp(x->host + ARENA_TO_RETURN, y->host + ARENA_TO_RETURN,
			 x->used - ARENA_TO_RETURN) == 0);
	EACH(struct piece, pieces, n_pieces)
	{
		SAME(cache);
		SAME(block);
		SAME(orig);
		SAME(kind);
		SAME(reg);
		SAME(spilled);
		SAME(in_loop);
	}
}

static void compare_blocks(const struct code_cache *x, const struct code_cache *y)
{
	EACH(struct code_block, blocks, n_blocks)
	{
		SAME(pc);
		SAME(size);
		SAME(n_insns);
		SAME(arena);
		SAME(stale);
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
		SAME(got_value);
		cr_assert(memcmp(a->bytes, b->bytes, a->size) == 0);
		const uint32_t *first = u64_map_find(&x->block_of_pc, a->pc);
		const uint32_t *second = u64_map_find(&y->block_of_pc, a->pc);
		cr_assert_eq(first != NULL, second != NULL);
		cr_assert(!first || *first == *second);
	}
}

static void compare_links(const struct code_cache *x, const struct code_cache *y)
{
	EACH(struct link, links, n_links)
	{
		SAME(target);
		SAME(site);
		SAME(next);
		SAME(junction);
		SAME(arena);
		SAME(kind);
		SAME(is_stub);
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
		const uint32_t *call = u64_map_find(&x->calls, a->pc);
		const uint32_t *other = u64_map_find(&y->calls, a->pc);
		cr_assert_eq(call != NULL, other != NULL);
		cr_assert(!call || *call == *other);
	}
	cr_assert(memcmp(x->landing_of_cell, y->landing_of_cell, sizeof(x->landing_of_cell)) == 0);
}

static void compare_counters(const struct code_cache *x, const struct code_cache *y)
{
	cr_assert_eq(x->n_counters, y->n_counters);
	cr_assert_eq(x->n_junctions, y->n_junctions);
	cr_assert_eq(x->lowest, y->lowest);
	cr_assert_eq(x->highest, y->highest);
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
	for (int i = 0; i < 2; i++)
		compare_arenas(&x->cache.arenas[i], &y->cache.arenas[i]);
	compare_blocks(&x->cache, &y->cache);
	compare_links(&x->cache, &y->cache);
	compare_counters(&x->cache, &y->cache);
	EACH(struct new_entry, new_entries, n_new_entries)
	{
		SAME(key);
		SAME(entry);
		SAME(replaces);
	}
	if (x->trace)
		compare_groups(x->trace, y->trace);
	cr_assert(!x->failed && !y->failed);
}

/* ---- rounds ---- */

static uint64_t random_shift(void)
{
	return (next_random() % (1u << 20)) << 12;
}

/* Near the code, behind it; now and then out of reach, so that all of it is far. */
static void random_arenas(uint64_t arenas[2])
{
	const uint64_t behind = ((code.end - code.start) >> 12) + next_random() % 1000;
	arenas[0] = behind << 12;
	arenas[1] = next_random() % 4 ? arenas[0] + (32u << 20)
				      : arenas[0] - (code.end - code.start) - (64u << 20);
	if (next_random() % 16 == 0)
		arenas[0] += arenas[1] = 1ull << 33;
}

/* Of all, of some, or of no lines. */
static uint64_t random_classes(void)
{
	const uint64_t classes = next_random() & next_random() & next_random();
	return next_random() % 4 ? classes : next_random() % 2 ? UINT64_MAX : 0;
}

static uint64_t play_round(size_t n)
{
	struct kept *kept = kept_create();
	struct process first, fresh, sharing;
	struct request requests[REQUESTS];
	struct setting setting = {
		.classes = random_classes(),
		.batch_insns = next_random() % 2 ? 400 : 1 + next_random() % 60,
	};
	cr_assert(kept);
	kept->n_sharing = 2;
	random_arenas(setting.arenas);
	open_process(&first, random_shift(), &setting, kept);
	for (size_t i = 0; i < n; i++) {
		requests[i] = random_request(next_random() % (code.end - code.start));
		(void)ask(&first, &requests[i]);
	}
	const bool looks_ahead = next_random() % 2;
	const uint64_t shift = random_shift(), seed = next_random();
	random_arenas(setting.arenas);
	if (next_random() % 16 == 0) /* then nothing that is kept is the same */
		setting.classes = random_classes();
	open_process(&fresh, shift, &setting, NULL);
	open_process(&sharing, shift, &setting, kept);
	fresh.seed = sharing.seed = seed;
	for (size_t i = 0; i < n; i++) {
		const struct request *request = &requests[i];
		const struct request other = random_request(request->offset);
		if (next_random() % 8 == 0)
			request = &other;
		cr_assert_eq(ask(&sharing, request), ask(&fresh, request));
		if (looks_ahead)
			ask_ahead(&sharing, &fresh);
	}
	compare(&sharing, &fresh);
	const uint64_t n_replayed = kept->n_replayed;
	close_process(&first);
	close_process(&fresh);
	close_process(&sharing);
	kept_destroy(kept);
	return n_replayed;
}

Test(replay, makes_what_a_translation_makes)
{
	const int rounds = lockstep_is_slow_run() ? ROUNDS_SLOW : ROUNDS;
	uint64_t n_replayed = 0;
	state = lockstep_seed();
	find_code();
	for (int i = 0; i < rounds; i++)
		n_replayed += play_round(1 + next_random() % REQUESTS);
	printf("%d rounds (RFPROF_SEED=%" PRIu64 "): %" PRIu64 " batches replayed\n", rounds,
	       lockstep_seed(), n_replayed);
	cr_assert_gt(n_replayed, (uint64_t)rounds * 5);
}

/* One process alone has nobody to keep anything for. */
Test(replay, keeps_nothing_for_one_process)
{
	struct kept *kept = kept_create();
	struct process process;
	const struct setting setting = {{1u << 24, 1u << 25}, next_random() % 2, 400};
	find_code();
	cr_assert(kept);
	kept->n_sharing = 1;
	open_process(&process, 0, &setting, kept);
	for (int i = 0; i < 20; i++) {
		const struct request request = {2, next_random() % (code.end - code.start), 0};
		(void)ask(&process, &request);
	}
	cr_assert(process.translator.cache.n_blocks);
	cr_assert_eq(kept->size, 0);
	close_process(&process);
	kept_destroy(kept);
}
