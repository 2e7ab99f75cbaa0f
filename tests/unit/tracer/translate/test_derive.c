/* Counts of blocks without counters against a walk over random code that counts every block. */
#include "tracer/translate/batch.h"
#include "tracer/translate/derive.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define CODE_PC 0x400000ull
#define N_SLOTS 60 /* of code, 8 bytes each */
#define ARENA (4u << 20)
#define N_PROGRAMS 200
#define N_STEPS 2000 /* blocks of a walk */

static uint64_t random_state;

/* Marsaglia's xorshift64. */
static uint64_t random_below(uint64_t n)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (random_state >> 11) % n;
}

static uint8_t code[8 * N_SLOTS];

static size_t read_code(void *context, uint64_t pc, uint8_t *buffer, size_t size, const char **why)
{
	(void)context;
	const uint64_t offset = pc - CODE_PC;
	if (offset >= sizeof(code)) {
		*why = "no code";
		return 0;
	}
	size = size < sizeof(code) - offset ? size : sizeof(code) - offset;
	memcpy(buffer, code + offset, size);
	return size;
}

static void locate(void *context, uint64_t pc, uint32_t *module, uint64_t *offset)
{
	(void)context;
	*module = 0;
	*offset = pc;
}

static void put_transfer(uint8_t *slot, const uint8_t *opcode, size_t n)
{
	const uint64_t next = CODE_PC + (uint64_t)(slot - code) + n + 4;
	const int32_t rel = (int32_t)(CODE_PC + 8 * random_below(N_SLOTS) - next);
	memcpy(slot, opcode, n);
	memcpy(slot + n, &rel, sizeof(rel));
}

/* Straight code, branches, jumps, calls and returns; the last slot returns. */
static void make_code(void)
{
	memset(code, 0x90, sizeof(code));
	for (size_t i = 0; i < N_SLOTS; i++) {
		uint8_t *slot = code + 8 * i;
		const uint64_t kind = i == N_SLOTS - 1 ? 9 : random_below(10);
		if (kind < 5)
			put_transfer(slot, (const uint8_t[]){0x0f, 0x85}, 2);
		else if (kind == 5)
			put_transfer(slot, (const uint8_t[]){0xe9}, 1);
		else if (kind == 6)
			put_transfer(slot, (const uint8_t[]){0xe8}, 1);
		else if (kind == 9)
			*slot = 0xc3;
	}
}

struct walk {
	struct translator translator;
	uint64_t *counters;
	int64_t *truth; /* executions, by block */
	bool is_hot;    /* some of the code is hot */
};

static struct walk open_walk(size_t batch_insns)
{
	struct walk walk = {
		.translator = {.source = {.read = read_code, .locate = locate},
			       .quiet = true,
			       .batch_insns = batch_insns},
		.counters = calloc(100000, sizeof(uint64_t)),
		.truth = calloc(10000, sizeof(int64_t)),
	};
	uint8_t *memory = calloc(1, ARENA);
	cr_assert(walk.counters && walk.truth && memory);
	code_cache_add_arena(&walk.translator.cache, CODE_PC + (1 << 20), memory, ARENA);
	return walk;
}

static void close_walk(struct walk *walk)
{
	free(walk->translator.cache.arenas[0].host);
	code_cache_deinit(&walk->translator.cache);
	hot_code_deinit(&walk->translator.hot);
	free(walk->translator.new_entries);
	free(walk->counters);
	free(walk->truth);
}

/* Control comes to pc from no block of its batch; returns the block. */
static uint32_t enter(struct walk *walk, uint64_t pc)
{
	const char *why = NULL;
	cr_assert(translate_body(&walk->translator, pc, &why), "%s", why);
	const struct code_cache *cache = &walk->translator.cache;
	const struct code_block *block = code_cache_block(&walk->translator.cache, pc);
	for (size_t i = 0; block->in != OUTSIDE; i++) {
		cr_assert_lt(i, cache->n_crossings);
		if (cache->crossings[i].from == OUTSIDE && cache->crossings[i].to == block->in) {
			walk->counters[cache->crossings[i].counter]++;
			break;
		}
	}
	return (uint32_t)(block - cache->blocks);
}

/* What the code of a block does for the counts. */
static void run_block(struct walk *walk, uint32_t b)
{
	const struct code_block *block = &walk->translator.cache.blocks[b];
	walk->truth[b]++;
	if (block->counter != NO_COUNTER)
		walk->counters[block->counter]++;
}

static struct decoded last_insn(const struct code_block *block)
{
	struct decoded insn;
	size_t offset = 0;
	do {
		decode_instruction(block->bytes + offset, block->size - offset, block->pc + offset,
				   &insn);
		offset += insn.length;
	} while (offset < block->size);
	return insn;
}

/* Where control goes behind a block, as chance has it; 0: through the gate or out of the code. */
static uint64_t next_pc(const struct code_block *block)
{
	const struct decoded insn = last_insn(block);
	const uint64_t next = insn.pc + insn.length;
	if (insn.flow == FLOW_BRANCH)
		return random_below(2) ? insn.target : next;
	if (insn.flow == FLOW_JUMP)
		return insn.target;
	return insn.flow == FLOW_NEXT ? next : 0;
}

static uint64_t random_pc(void)
{
	return CODE_PC + 8 * random_below(N_SLOTS);
}

/* Control leaves the batch by a way out: whichever it is, the derivation is the same. */
static void leave(struct walk *walk, uint32_t junction)
{
	const struct code_cache *cache = &walk->translator.cache;
	size_t i = 0;
	while (i < cache->n_crossings &&
	       (cache->crossings[i].from != junction || cache->crossings[i].to != OUTSIDE ||
		cache->crossings[i].counter == cache->leaving[junction]))
		i++;
	cr_assert_lt(i, cache->n_crossings, "no way out is counted");
	walk->counters[cache->crossings[i].counter]++;
}

/* The block that control comes to without a link: the next one of its batch that it falls into, or,
 * in a loop, itself.  It need not be the one that is found there by its address, since what was
 * laid out anew stays where it was.  NULL: it goes by a link. */
static const struct code_block *without_link(const struct walk *walk, uint32_t b, uint64_t pc)
{
	const struct code_cache *cache = &walk->translator.cache;
	const struct code_block *block = &cache->blocks[b], *next = block + 1;
	if (pc == block->pc && last_insn(block).flow == FLOW_BRANCH)
		return block;
	return b + 1 < cache->n_blocks && next->falls_in && next->pc == pc ? next : NULL;
}

static void heat_again(struct walk *walk);

static uint32_t go_on(struct walk *walk, uint32_t b)
{
	struct code_cache *cache = &walk->translator.cache;
	if (walk->is_hot && !random_below(N_STEPS / 4))
		heat_again(walk);
	const struct code_block *block = &cache->blocks[b];
	if (!random_below(20)) { /* a signal, before its first instruction or amid it */
		const bool counted = random_below(2);
		if (counted)
			run_block(walk, b);
		derive_leave(cache, block, counted, walk->counters);
		return enter(walk, random_pc());
	}
	run_block(walk, b);
	const uint64_t pc = next_pc(block);
	if (block->out == OUTSIDE)
		return enter(walk, pc ? pc : random_pc());
	const struct code_block *next = without_link(walk, b, pc);
	if (!next)
		next = code_cache_block(cache, pc);
	if (walk->is_hot && (!next || next->in != block->out)) {
		leave(walk, block->out);
		return enter(walk, pc);
	}
	cr_assert(next);
	cr_assert_eq(next->in, block->out, "control leaves its junction");
	return (uint32_t)(next - cache->blocks);
}

/* As far as chance has it what `walk` has met is hot in the next one. */
static void choose_hot(struct walk *next, const struct walk *walk)
{
	const struct code_cache *cache = &walk->translator.cache;
	double *executions = calloc(cache->n_blocks + 1, sizeof(*executions));
	cr_assert(executions);
	for (size_t i = 0; i < cache->n_blocks; i++)
		executions[i] = random_below(4) ? (double)(1 + random_below(1000)) : 0;
	hot_code_deinit(&next->translator.hot);
	cr_assert(hot_code_init(&next->translator.hot, cache, executions));
	next->is_hot = true;
	free(executions);
}

static void heat(struct walk *next, const struct walk *walk)
{
	choose_hot(next, walk);
	translate_hot(&next->translator);
}

/* Other code is hot from now on. */
static void heat_again(struct walk *walk)
{
	choose_hot(walk, walk);
	translate_hot_anew(&walk->translator);
	walk->translator.n_new_entries = 0;
}

static void go(struct walk *walk)
{
	struct code_cache *cache = &walk->translator.cache;
	uint32_t b = enter(walk, CODE_PC);
	for (size_t i = 0; i < N_STEPS; i++)
		b = go_on(walk, b);
	derive_leave(cache, &cache->blocks[b], false, walk->counters); /* it is killed there */
	int64_t *seen = malloc(cache->n_blocks * sizeof(*seen));
	cr_assert(derive_executions(cache, walk->counters, seen));
	for (size_t i = 0; i < cache->n_blocks; i++)
		cr_assert_eq(seen[i], walk->truth[i], "block %zu: %" PRId64 ", not %" PRId64, i,
			     seen[i], walk->truth[i]);
	free(seen);
}

Test(derive, counts_equal_those_of_every_block)
{
	size_t n_derived = 0, n_derived_hot = 0, n_blocks = 0, n_blocks_hot = 0;
	for (uint64_t i = 0; i < N_PROGRAMS; i++) {
		random_state = 0x9e3779b97f4a7c15u * (i + 1);
		make_code();
		const size_t batch_insns = i % 3 ? 400 : 1 + i % 20;
		struct walk walk = open_walk(batch_insns), hot = open_walk(batch_insns);
		go(&walk);
		heat(&hot, &walk);
		go(&hot);
		n_derived += walk.translator.cache.n_derived;
		n_blocks += walk.translator.cache.n_blocks;
		n_derived_hot += hot.translator.cache.n_derived;
		n_blocks_hot += hot.translator.cache.n_blocks;
		close_walk(&walk);
		close_walk(&hot);
	}
	cr_expect_gt(n_derived, 1000, "hardly any block was derived");
	cr_expect_gt(n_derived_hot * n_blocks, n_derived * n_blocks_hot,
		     "no more are derived where it is known what is hot");
}

/* Blocks with a counter of their own, of those that are not forgotten. */
static size_t n_counted(const struct walk *walk)
{
	const struct code_cache *cache = &walk->translator.cache;
	size_t n = 0;
	for (size_t i = 0; i < cache->n_blocks; i++)
		n += !cache->blocks[i].stale && cache->blocks[i].counter != NO_COUNTER;
	return n;
}

/* Links to code that was forgotten lead to all blocks that are laid out anew; they must not make
 * them count. */
Test(derive, code_that_is_laid_out_anew_has_no_more_counters)
{
	size_t first = 0, anew = 0;
	for (uint64_t i = 0; i < N_PROGRAMS; i++) {
		random_state = 0x9e3779b97f4a7c15u * (i + 1);
		make_code();
		struct walk walk = open_walk(400), hot = open_walk(400);
		go(&walk);
		heat(&hot, &walk);
		first += n_counted(&hot);
		translate_hot_anew(&hot.translator);
		hot.translator.n_new_entries = 0;
		anew += n_counted(&hot);
		close_walk(&walk);
		close_walk(&hot);
	}
	cr_expect_gt(first, 1000, "hardly anything was hot");
	cr_expect_leq(anew, first);
}
