#include "tests/unit/tracer/translate/lockstep.h"
#include "tests/unit/tracer/translate/lockstep_snippets.h"
#include "tests/unit/tracer/translate/piece_array.h"

#include "tracer/gate/protocol.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

SNIPPETS(SNIPPET_CODE)
SNIPPETS_AVX2(SNIPPET_CODE)
SNIPPETS_AVX512(SNIPPET_CODE)
SNIPPETS_CARRY(SNIPPET_CODE)
SNIPPETS_CARRY_AVX512(SNIPPET_CODE)

static const struct snippet snippets[] = {SNIPPETS(SNIPPET_ROW)};
static const struct snippet snippets_avx2[] = {SNIPPETS_AVX2(SNIPPET_ROW)};
static const struct snippet snippets_avx512[] = {SNIPPETS_AVX512(SNIPPET_ROW)};
static const struct snippet snippets_carry[] = {SNIPPETS_CARRY(SNIPPET_ROW)};
static const struct snippet snippets_carry_avx512[] = {SNIPPETS_CARRY_AVX512(SNIPPET_ROW)};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define WHOLE_BATCH 1000

static struct lockstep lockstep;
static struct lockstep_state state;

static const char *const layout_names[LAYOUTS] = {"near", "far", "low", "low and far"};

/* ---- pieces of code with a known way through them ---- */

static void run_snippet(const struct snippet *snippet, enum lockstep_layout layout,
			const struct lockstep_options *options)
{
	lockstep_random_state(&lockstep, lockstep.image.start, &state);
	if (strcmp(snippet->name, "rep_faults") == 0) /* on its way up from the stack pointer */
		state.regs.rsp = STACK_ADDRESS + STACK_SIZE - 64;
	cr_expect(lockstep_run(&lockstep, &state, options), "%s, %s, batches of %zu: %s",
		  snippet->name, layout_names[layout], options->batch_insns, lockstep.failure);
}

/* Fresh code caches, by batches of every size; then again in the cache of the first run. */
static void try_snippet(const struct snippet *snippet, enum lockstep_layout layout)
{
	static const struct lockstep_options ways[] = {
		{.batch_insns = WHOLE_BATCH, .max_steps = 1000},
		{.batch_insns = WHOLE_BATCH, .max_steps = 1000, .link_indirect = true},
		{.batch_insns = 1, .max_steps = 1000, .link_indirect = true, .busy = true},
		{.batch_insns = 2, .max_steps = 1000},
		{.batch_insns = 2, .max_steps = 1000, .link_indirect = true, .is_hot = true},
	};
	const size_t size = (size_t)(snippet->end - snippet->begin);
	for (size_t i = 0; i < COUNT(ways); i++) {
		cr_assert(lockstep_open_code(&lockstep, snippet->begin, size, layout));
		lockstep.random = i;
		run_snippet(snippet, layout, &ways[i]);
		if (i == 0)
			cr_expect_str_eq(lockstep.path, snippet->path, "%s, %s", snippet->name,
					 layout_names[layout]);
		cr_expect_eq(lockstep.tally.runs, 1);
		for (int again = 0; again < 2; again++)
			run_snippet(snippet, layout, &ways[i]);
		lockstep_close(&lockstep);
	}
}

static void try_snippets(const struct snippet *rows, size_t n, enum lockstep_layout layout)
{
	for (size_t i = 0; i < n; i++)
		try_snippet(&rows[i], layout);
}

static void try_all_snippets(enum lockstep_layout layout)
{
	try_snippets(snippets, COUNT(snippets), layout);
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
		try_snippets(snippets_avx2, COUNT(snippets_avx2), layout);
	if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
		try_snippets(snippets_avx512, COUNT(snippets_avx512), layout);
}

Test(translate, code_near_the_arena)
{
	try_all_snippets(LAYOUT_NEAR);
}
Test(translate, operands_out_of_reach)
{
	try_all_snippets(LAYOUT_FAR);
}
Test(translate, code_below_2_gib)
{
	try_all_snippets(LAYOUT_LOW);
}
Test(translate, low_code_out_of_reach)
{
	try_all_snippets(LAYOUT_LOW_FAR);
}

/* Counting lanes must not touch a carry that inc or dec carries on. */
Test(translate, carry_outlives_counted_lanes)
{
	if (__builtin_cpu_supports("avx2"))
		try_snippets(snippets_carry, COUNT(snippets_carry), LAYOUT_NEAR);
	if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
		try_snippets(snippets_carry_avx512, COUNT(snippets_carry_avx512), LAYOUT_NEAR);
}

/* Every condition, short and near, with every combination of the flags that it may test. */
Test(translate, every_condition_with_all_flags)
{
	static const struct lockstep_options options = {.batch_insns = WHOLE_BATCH,
							.max_steps = 10};
	static const uint16_t bits[] = {0x1, 0x4, 0x40, 0x80, 0x800}; /* CF PF ZF SF OF */
	uint8_t code[] = {0x70, 1, 0xf4, 0x0f, 0x80, 1,
			  0,    0, 0,    0xf4, 0xf4}; /* jcc; hlt; jcc; hlt; hlt */
	for (uint8_t condition = 0; condition < 16; condition++) {
		code[0] = 0x70 | condition;
		code[4] = 0x80 | condition;
		cr_assert(lockstep_open_code(&lockstep, code, sizeof(code), LAYOUT_NEAR));
		for (unsigned start = 0; start <= 3; start += 3)
			for (unsigned flags = 0; flags < 32; flags++) {
				lockstep_random_state(&lockstep, lockstep.image.start + start,
						      &state);
				state.regs.eflags = 0x202;
				for (unsigned i = 0; i < COUNT(bits); i++)
					state.regs.eflags |= flags >> i & 1 ? bits[i] : 0;
				cr_expect(lockstep_run(&lockstep, &state, &options), "%s",
					  lockstep.failure);
			}
		cr_expect_eq(lockstep.tally.runs, 64);
		lockstep_close(&lockstep);
	}
}

/* Two targets with the same low 16 bits share a cell of the jump table: the entry of the wrong one
 * must find out.  The table then holds the other one, and so on in turn. */
Test(translate, entry_of_another_target_collides)
{
	struct lockstep_options options = {.batch_insns = WHOLE_BATCH, .max_steps = 100};
	static uint8_t code[LOCKSTEP_DATA];
	/* at 0: mov %rdx, %rsi; jmp *%rsi.  At 0x100: hlt.  At 0x10100 there are zeros: add */
	static const uint8_t jump[] = {0x48, 0x89, 0xd6, 0xff, 0xe6};
	for (int layout = 0; layout < LAYOUTS; layout++) {
		memcpy(code, jump, sizeof(jump));
		memset(code + 0x100, 0xf4, 16);
		cr_assert(lockstep_open_code(&lockstep, code, sizeof(code),
					     (enum lockstep_layout)layout));
		lockstep_random_state(&lockstep, lockstep.image.start, &state);
		state.regs.rdx = lockstep.image.start + 0x100;
		options.collide_with = lockstep.image.start + 0x10100;
		cr_expect(lockstep_run(&lockstep, &state, &options), "%s", lockstep.failure);
		cr_expect_str_eq(lockstep.path, "CF", "%s", layout_names[layout]);
		lockstep_close(&lockstep);
	}
}

/* As natively: the fault comes at the target, where nothing is. */
Test(translate, jump_to_address_0)
{
	static const struct lockstep_options options = {.batch_insns = 4, .max_steps = 20};
	uint8_t code[16] = {0x0f, 0x84, 0, 0, 0, 0, 0xf4}; /* jz 0; hlt */
	const int32_t rel = -0x10000006;
	memcpy(code + 2, &rel, sizeof(rel));
	cr_assert(lockstep_open_code(&lockstep, code, sizeof(code), LAYOUT_LOW));
	cr_assert_eq(lockstep.image.start, 0x10000000);
	lockstep_random_state(&lockstep, lockstep.image.start, &state);
	state.regs.eflags |= 0x40;
	cr_expect(lockstep_run(&lockstep, &state, &options), "%s", lockstep.failure);
	cr_expect_str_eq(lockstep.path, "M");
	lockstep_close(&lockstep);
}

/* ---- code that changes, and the cache's own books ---- */

static size_t invalidate(struct translator *translator, uint64_t start, uint64_t end)
{
	return translate_invalidate(translator, &start, end);
}

/* Of three blocks that follow each other the last changes: those that run on into it are forgotten,
 * and those whose jump to them is left out, but not what jumps to them. */
Test(translate, what_runs_on_into_changed_code_is_forgotten)
{
	static const struct lockstep_options options = {.batch_insns = 20, .max_steps = 20};
	/* 0: test %eax, %eax; je 0x60; jmp 0x20.  0x20: test %eax, %eax; je 0x24; 0x24: test %ecx,
	 * %ecx; je 0x28; 0x28: mov $1, %eax; hlt; ret.  0x60: nop; jmp 0x20 */
	uint8_t code[0x80] = {0x85, 0xc0, 0x74, 0x5c, 0xeb, 0x1a, [0x60] = 0x90, 0xeb, 0xbd};
	static const uint8_t run[] = {0x85, 0xc0, 0x74, 0, 0x85, 0xc9, 0x74, 0,
				      0xb8, 1,    0,    0, 0,    0xf4, 0xc3};
	memcpy(code + 0x20, run, sizeof(run));
	cr_assert(lockstep_open_code(&lockstep, code, sizeof(code), (enum lockstep_layout)0));
	struct translator *translator = &lockstep.translator;
	const uint64_t pc = lockstep.image.start;
	lockstep_random_state(&lockstep, pc, &state);
	cr_expect(lockstep_run(&lockstep, &state, &options), "%s", lockstep.failure);
	uint64_t start = pc + 0x29;
	cr_expect_eq(translate_invalidate(translator, &start, pc + 0x2a), 5);
	cr_expect_eq(start, pc);
	cr_expect_null(code_cache_block(&translator->cache, pc));
	cr_expect_null(code_cache_block(&translator->cache, pc + 0x24));
	cr_expect_not_null(code_cache_block(&translator->cache, pc + 0x60));
	((uint8_t *)pc)[0x29] = 7;
	lockstep_random_state(&lockstep, pc, &state);
	cr_expect(lockstep_run(&lockstep, &state, &options), "%s", lockstep.failure);
	lockstep_close(&lockstep);
}

/* mov $VALUE, %eax; hlt, reached by a jump that has been linked to it. */
Test(translate, changed_code_is_translated_anew)
{
	static const struct lockstep_options options = {.batch_insns = 1, .max_steps = 20};
	/* 0: jmp 0x20.  0x20: mov $1, %eax; jmp 0x40.  0x40: mov %eax, %edx; hlt; ret */
	uint8_t code[0x80] = {0xeb, 0x1e};
	static const uint8_t middle[] = {0xb8, 1, 0, 0, 0, 0xeb, 0x19},
			     end[] = {0x89, 0xc2, 0xf4, 0xc3};
	memcpy(code + 0x20, middle, sizeof(middle));
	memcpy(code + 0x40, end, sizeof(end));
	for (int layout = 0; layout < LAYOUTS; layout++) {
		cr_assert(lockstep_open_code(&lockstep, code, sizeof(code),
					     (enum lockstep_layout)layout));
		struct translator *translator = &lockstep.translator;
		const uint64_t pc = lockstep.image.start;
		for (uint8_t value = 1; value < 6; value++) {
			((uint8_t *)pc)[0x21] = value;
			lockstep_random_state(&lockstep, pc, &state);
			cr_expect(lockstep_run(&lockstep, &state, &options), "%s",
				  lockstep.failure);
			cr_expect_str_eq(lockstep.path, value == 1 ? "MMF" : "MF", "value %d",
					 value);
			cr_expect_eq(invalidate(translator, pc + 0x21, pc + 0x22), 1);
			cr_expect_null(code_cache_block(&translator->cache, pc + 0x20));
			cr_expect_not_null(code_cache_block(&translator->cache, pc + 0x40));
			cr_expect_eq(invalidate(translator, pc + 0x21, pc + 0x22), 0);
		}
		cr_expect_eq(invalidate(translator, pc + 0x1000, pc + 0x2000), 0);
		cr_expect_eq(invalidate(translator, 0, UINT64_MAX), 2);
		lockstep_close(&lockstep);
	}
}

static uint64_t next_number(uint64_t *number)
{
	*number = *number * 6364136223846793005u + 1442695040888963407u;
	return *number >> 33;
}

static struct piece random_piece(uint64_t *number)
{
	static const uint32_t blocks[] = {0, 1, 2, NO_BLOCK - 1, NO_BLOCK, 1u << 31, 77};
	static const uint16_t offsets[] = {0, 1, 200, UINT16_MAX, 1u << 15};
	return (struct piece){.block = blocks[next_number(number) % 7],
			      .orig = offsets[next_number(number) % 5],
			      .kind = (uint8_t)(next_number(number) % (PIECE_DATA + 1)),
			      .reg = (uint8_t)(next_number(number) % 2 * 15),
			      .spilled = (uint8_t)(next_number(number) % 2 * 16),
			      .in_loop = next_number(number) % 8 == 0};
}

static bool same_piece(const struct piece *x, const struct piece *y)
{
	return x->cache == y->cache && x->block == y->block && x->orig == y->orig &&
	       x->kind == y->kind && x->reg == y->reg && x->spilled == y->spilled &&
	       x->in_loop == y->in_loop;
}

/* What is kept as differences is what was put in, also in a list that two were joined to. */
Test(translate, pieces_come_back)
{
	enum { N = 5000 };
	struct arena arenas[2] = {{0}};
	struct piece_list joined = {0};
	static struct piece given[2 * N];
	uint64_t number = 1;
	for (size_t i = 0; i < 2 * N; i++) {
		struct arena *arena = &arenas[i / N];
		arena->used = i ? given[i - 1].cache : 0;
		arena->used += next_number(&number) % 4 ? next_number(&number) % 20
							: next_number(&number) % 100000;
		given[i] = random_piece(&number);
		given[i].cache = (uint32_t)arena->used;
		cr_assert_null(arena_begin_piece(arena, &given[i]));
	}
	for (int i = 0; i < 2; i++)
		cr_assert(piece_list_join(&joined, &arenas[i].pieces));
	const struct arena whole = {.pieces = joined};
	size_t n;
	struct piece *pieces = piece_array(&whole, &n), found;
	cr_assert_eq(n, 2 * N);
	for (size_t i = 0; i < n; i++) {
		cr_assert(same_piece(&pieces[i], &given[i]), "piece %zu", i);
		cr_assert(arena_piece_at(&whole, given[i].cache, &found));
		cr_assert_eq(found.cache, given[i].cache);
	}
	free(pieces);
	piece_list_deinit(&joined);
	for (int i = 0; i < 2; i++)
		piece_list_deinit(&arenas[i].pieces);
}

/* The slow look-up: the last piece that does not begin behind the address. */
static const struct piece *find_piece(const struct piece *pieces, size_t n, uint64_t offset)
{
	const struct piece *found = NULL;
	for (size_t i = 0; i < n && pieces[i].cache <= offset; i++)
		found = &pieces[i];
	return found;
}

/* By a look-up of its own, and by one that goes on from the one before. */
static void check_look_ups(const struct code_cache *cache, const struct piece *pieces, size_t n)
{
	const struct arena *arena = &cache->arenas[0];
	struct piece_cursor cursor = {0};
	struct piece piece;
	for (uint64_t at = 0; at < arena->used; at++) {
		const struct piece *found = find_piece(pieces, n, at);
		cr_assert_eq(code_cache_piece(cache, arena->base + at, &piece), found != NULL);
		cr_assert_eq(piece_cursor_find(&cursor, &arena->pieces, at), found != NULL);
		cr_assert(!found || same_piece(&piece, found), "at %zu", (size_t)at);
		cr_assert(!found || same_piece(&cursor.here, found), "at %zu", (size_t)at);
	}
	for (uint64_t number = 1, i = 0; i < arena->used; i++) {
		const uint64_t at = next_number(&number) % arena->used;
		const struct piece *found = find_piece(pieces, n, at);
		cr_assert_eq(piece_cursor_find(&cursor, &arena->pieces, at), found != NULL);
		cr_assert(!found || same_piece(&cursor.here, found), "at %zu", (size_t)at);
	}
}

static void check_piece(const struct code_cache *cache, const struct piece *piece)
{
	if (piece->block == NO_BLOCK)
		return;
	cr_assert_lt(piece->block, cache->n_blocks);
	cr_assert_leq(piece->orig, cache->blocks[piece->block].size);
	if (piece->kind == PIECE_CLEAN)
		cr_assert_lt(piece->orig, cache->blocks[piece->block].size);
}

/* Whether the block was nothing but a jump, which is left out. */
static bool leaves_no_code(const struct code_cache *cache, size_t i)
{
	const struct code_block *block = &cache->blocks[i];
	return block->n_insns == 1 && block->counter == NO_COUNTER && i + 1 < cache->n_blocks &&
	       block[1].falls_in && block[1].pc != block->pc + block->size;
}

Test(translate, every_byte_has_its_piece)
{
	cr_assert(lockstep_open_file(&lockstep, "/lib/x86_64-linux-gnu/libc.so.6", LAYOUT_NEAR, 7));
	struct code_cache *cache = &lockstep.translator.cache;
	const struct arena *arena = &cache->arenas[0];
	const char *why;
	lockstep.translator.batch_insns = 50;
	for (int i = 0; i < 40; i++)
		translate_body(&lockstep.translator, lockstep_random_pc(&lockstep), &why);
	size_t n;
	struct piece *pieces = piece_array(arena, &n), ignored;
	for (size_t i = 1; i < n; i++)
		cr_assert_geq(pieces[i].cache, pieces[i - 1].cache);
	check_look_ups(cache, pieces, n);
	for (size_t i = 0; i < n; i++)
		check_piece(cache, &pieces[i]);
	for (size_t i = 0; i < cache->n_blocks; i++) {
		const struct piece *piece = find_piece(pieces, n, cache->blocks[i].inner);
		if (leaves_no_code(cache, i)) {
			cr_assert_eq(piece->block, i + 1);
			continue;
		}
		cr_assert_eq(piece->block, i);
		cr_assert_eq(piece->orig, 0);
		cr_assert_eq(memcmp(cache->blocks[i].bytes, (void *)cache->blocks[i].pc,
				    cache->blocks[i].size),
			     0);
	}
	cr_expect_not(code_cache_piece(cache, arena->base - 1, &ignored));
	cr_expect_not(code_cache_piece(cache, arena->base + arena->size, &ignored));
	free(pieces);
	lockstep_close(&lockstep);
}

Test(translate, stubs_and_entries_are_found_again)
{
	/* 0: jz 0x10; ret.  0x10: ret */
	static const uint8_t code[0x11] = {0x74, 0x0e, 0xc3, [0x10] = 0xc3};
	cr_assert(lockstep_open_code(&lockstep, code, sizeof(code), LAYOUT_NEAR));
	struct translator *translator = &lockstep.translator;
	const uint64_t pc = lockstep.image.start;
	const char *why = NULL;
	uint64_t wanted = 0;
	translator->batch_insns = 1;
	const uint64_t body = translate_body(translator, pc, &why);
	cr_assert(body);
	cr_expect_eq(translate_body(translator, pc, &why), body);
	cr_assert_eq(translator->cache.n_stubs, 2);
	for (uint64_t stub = 0; stub < 2; stub++) {
		uint64_t found = translate_stub(translator, stub, &wanted, &why);
		cr_expect_eq(wanted, translator->cache.stubs[stub].pc);
		cr_expect_eq(found, translate_body(translator, wanted, &why));
	}
	const uint64_t entry = translate_entry(translator, pc + 0x10, &why);
	cr_expect_eq(translate_entry(translator, pc + 0x10, &why), entry);
	cr_assert_eq(translator->n_new_entries, 1);
	cr_expect_eq(translator->new_entries[0].key, pc + 0x10);
	cr_expect_eq(translator->new_entries[0].entry, entry);
	lockstep_close(&lockstep);
}

Test(translate, what_cannot_be_translated_says_why)
{
	static const struct {
		const char *name;
		uint8_t bytes[8];
	} cases[] = {
		{"not an instruction", {0x06}},
		{"mov %gs:0, %eax", {0x65, 0x8b, 0x04, 0x25, 0, 0, 0, 0}},
		{"rdgsbase %rax", {0xf3, 0x48, 0x0f, 0xae, 0xc8}},
		{"wrgsbase %rax", {0xf3, 0x48, 0x0f, 0xae, 0xd8}},
		{"mov %eax, %gs", {0x8e, 0xe8}},
		{"iretq", {0x48, 0xcf}},
		{"ljmp *(%rax)", {0xff, 0x28}},
		{"lret", {0xcb}},
		{"addr32 rep stosb", {0x67, 0xf3, 0xaa}},
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		const char *why = NULL;
		cr_assert(lockstep_open_code(&lockstep, cases[i].bytes, sizeof(cases[i].bytes),
					     LAYOUT_NEAR));
		lockstep.translator.batch_insns = 10;
		cr_expect_eq(translate_body(&lockstep.translator, lockstep.image.start, &why), 0,
			     "%s", cases[i].name);
		cr_expect(why && *why, "%s", cases[i].name);
		why = NULL;
		cr_expect_eq(translate_entry(&lockstep.translator, lockstep.image.end, &why), 0);
		cr_expect_not_null(why);
		lockstep_close(&lockstep);
	}
}
