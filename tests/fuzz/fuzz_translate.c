/* Fuzz target: the translator on arbitrary bytes as program code.  The first byte chooses where the
 * code lies and how large batches are, the second whether a second module with the same code and an
 * arena of its own lies far away, and whether batches are as large as in a real run; the others are
 * code.  Whatever they hold: nothing is written outside of what a request appends but the links'
 * own fields, every emitted byte decodes or is data, the cache's books agree with each other, and
 * asking again gives the same answer.  Built with -fsanitize=fuzzer, or as a plain program with
 * replay.c over a folder of inputs. */
#include "tracer/translate/translate.h"

#include <Zydis/Zydis.h>
#include <stdlib.h>
#include <string.h>

#define ARENA_SIZE (4u << 20)
#define N_ARENAS 2
#define MAX_CODE 512
#define FAR_BASE 0x5500000000ull
#define MAX_REQUESTS 40
#define FILL 0xa5 /* unused arena */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct program {
	uint64_t base, far; /* the same code at both; far is 0 where there is no second module */
	const uint8_t *code;
	size_t size;
};

static void require(bool condition)
{
	if (!condition)
		abort();
}

static uint64_t offset_in(const struct program *program, uint64_t pc)
{
	const bool is_far = program->far && pc - program->far < program->size;
	return pc - (is_far ? program->far : program->base);
}

static size_t read_code(void *context, uint64_t pc, uint8_t *buffer, size_t size, const char **why)
{
	const struct program *program = context;
	const uint64_t offset = offset_in(program, pc);
	if (offset >= program->size) {
		*why = "no code there";
		return 0;
	}
	size_t n = program->size - offset;
	n = n < size ? n : size;
	memcpy(buffer, program->code + offset, n);
	return n;
}

static void locate_code(void *context, uint64_t pc, uint32_t *module, uint64_t *offset)
{
	const struct program *program = context;
	*module = 1;
	*offset = offset_in(program, pc);
}

/* ---- what must hold ---- */

static bool is_link(const struct code_cache *cache, const struct arena *arena, uint32_t offset)
{
	for (size_t i = 0; i < cache->n_links; i++)
		if (&cache->arenas[cache->links[i].arena] == arena &&
		    offset - cache->links[i].site < (cache->links[i].is_stub ? 8 : 4))
			return true;
	return false;
}

/* Only links, and room that was put aside, may have changed below `used`, and nothing beyond the
 * new end. */
static void check_writes(const struct code_cache *cache, const struct arena *arena,
			 const uint8_t *before, size_t used, const struct put_aside *aside)
{
	require(arena->used >= used && arena->used <= arena->size);
	for (size_t i = 0; i < used; i++)
		require(before[i] == arena->host[i] || (i >= aside->at && i < aside->end) ||
			is_link(cache, arena, (uint32_t)i));
	for (size_t i = arena->used; i < arena->used + 4096 && i < arena->size; i++)
		require(arena->host[i] == FILL);
}

static void check_pieces(const struct code_cache *cache, const struct arena *arena)
{
	struct piece_reader reader = piece_reader_of(&arena->pieces);
	size_t n = 0;
	for (uint32_t before = 0; piece_reader_next(&reader); before = reader.piece.cache, n++) {
		const struct piece *piece = &reader.piece;
		require(piece->cache <= arena->used && piece->kind <= PIECE_DATA);
		require(piece->cache >= before);
		require(piece->block == NO_BLOCK || piece->block < cache->n_blocks);
		if (piece->block != NO_BLOCK && piece->kind == PIECE_CLEAN)
			require(piece->orig < cache->blocks[piece->block].size);
	}
	require(n == arena->pieces.n && reader.at == reader.end);
}

/* Whether the block was nothing but a jump to the next one, which is left out. */
static bool leaves_no_code(const struct code_cache *cache, size_t i)
{
	const struct code_block *block = &cache->blocks[i];
	return block->n_insns == 1 && block->counter == NO_COUNTER && i + 1 < cache->n_blocks &&
	       block[1].falls_in;
}

static void check_blocks(struct code_cache *cache, const struct program *program)
{
	for (size_t i = 0; i < cache->n_blocks; i++) {
		const struct code_block *block = &cache->blocks[i];
		const struct arena *arena = &cache->arenas[block->arena];
		const uint64_t offset = offset_in(program, block->pc);
		require(block->size >= 1 && offset < program->size &&
			offset + block->size <= program->size);
		require(!memcmp(block->bytes, program->code + offset, block->size));
		require(block->n_insns >= 1 && block->n_insns <= block->size);
		require(block->body < arena->used && block->inner < arena->used &&
			(block->counter < cache->n_counters || block->counter == NO_COUNTER));
		require(block->inner && block->in < cache->n_junctions + 1 &&
			block->out < cache->n_junctions + 1);
		require(block->counter == NO_COUNTER ||
			(block->counted_at > block->inner && block->counted_at <= arena->used));
		require(block->stale || code_cache_block(cache, block->pc) == block);
		struct piece piece;
		require(code_cache_piece(cache, arena->base + block->inner, &piece));
		require((piece.block == i || (piece.block == i + 1 && leaves_no_code(cache, i))) &&
			piece.orig == 0);
	}
	for (size_t i = 0; i < cache->n_units; i++)
		require(cache->units[i].counter < cache->n_counters);
}

/* From each piece on there are whole instructions up to the next piece, as far as it can be told.
 */
static void check_code(const struct arena *arena)
{
	ZydisDecoder decoder;
	ZydisDecodedInstruction insn;
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	struct piece_reader reader = piece_reader_of(&arena->pieces);
	bool more = piece_reader_next(&reader);
	while (more) {
		const struct piece piece = reader.piece;
		more = piece_reader_next(&reader);
		for (size_t at = piece.cache; at < reader.piece.cache && piece.kind != PIECE_DATA;
		     at += insn.length) {
			require(ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(
				&decoder, NULL, arena->host + at, arena->used - at, &insn)));
			if (insn.mnemonic == ZYDIS_MNEMONIC_JMP && insn.opcode == 0xff &&
			    insn.raw.modrm.rm == 5 && insn.raw.modrm.mod == 0)
				break; /* a far jump: its address follows */
		}
	}
}

/* Every direct link ends in a piece: a block, a stub or a jump to one. */
static void check_links(const struct code_cache *cache)
{
	for (size_t i = 0; i < cache->n_links; i++) {
		const struct link *link = &cache->links[i];
		const struct arena *arena = &cache->arenas[link->arena];
		int32_t rel;
		require(link->site + 4 <= arena->used);
		if (link->is_stub)
			continue;
		memcpy(&rel, arena->host + link->site, sizeof(rel));
		const uint64_t to = link->site + 4 + (uint64_t)(int64_t)rel;
		struct piece piece;
		require(to < arena->used && code_cache_piece(cache, arena->base + to, &piece));
	}
}

/* Data lies in the code, too. */
static bool read_value(void *context, uint64_t address, uint64_t *value)
{
	const struct program *program = context;
	const uint64_t offset = offset_in(program, address);
	if (offset >= program->size || program->size - offset < sizeof(*value))
		return false;
	memcpy(value, program->code + offset, sizeof(*value));
	return true;
}

/* ---- requests ---- */

struct fuzzed {
	struct program program;
	struct translator translator;
	uint8_t *before[N_ARENAS];
};

static void request(struct fuzzed *fuzzed, unsigned kind, uint64_t pc)
{
	struct translator *translator = &fuzzed->translator;
	struct code_cache *cache = &translator->cache;
	const size_t used[N_ARENAS] = {cache->arenas[0].used, cache->arenas[1].used};
	const struct put_aside aside[N_ARENAS] = {cache->arenas[0].constants,
						  cache->arenas[1].constants};
	const char *why = NULL;
	uint64_t answer, again, wanted;
	for (int i = 0; i < cache->n_arenas; i++)
		memcpy(fuzzed->before[i], cache->arenas[i].host, used[i]);
	if (kind == 0) {
		answer = translate_body(translator, pc, &why);
		again = translate_body(translator, pc, &why);
	} else if (kind == 1) {
		answer = translate_entry(translator, pc, &why);
		again = translate_entry(translator, pc, &why);
	} else if (kind == 2 && cache->n_stubs) {
		const uint64_t stub = pc % cache->n_stubs;
		answer = translate_stub(translator, stub, &wanted, &why);
		again = translate_stub(translator, stub, &wanted, &why);
		require(wanted == cache->stubs[stub].pc);
	} else {
		uint64_t start = pc;
		answer = again = translate_invalidate(translator, &start, pc + 3);
		require(start <= pc);
		start = pc;
		require(!translate_invalidate(translator, &start, pc + 3) && start == pc);
		why = "";
	}
	require(answer == again && (answer || why));
	for (int i = 0; i < cache->n_arenas; i++)
		check_writes(cache, &cache->arenas[i], fuzzed->before[i], used[i], &aside[i]);
}

static void fuzz(struct fuzzed *fuzzed, const uint8_t *data, size_t size)
{
	struct code_cache *cache = &fuzzed->translator.cache;
	for (size_t i = 0; i < size && i < MAX_REQUESTS; i++) {
		if (cache->arenas[0].used > ARENA_SIZE / 16)
			break;
		const uint64_t base =
			fuzzed->program.far && i & 1 ? fuzzed->program.far : fuzzed->program.base;
		request(fuzzed, i < 4 ? 0 : data[i] & 3, base + (i < 4 ? i : i * 7 % size));
	}
	for (int i = 0; i < cache->n_arenas; i++) {
		check_pieces(cache, &cache->arenas[i]);
		check_code(&cache->arenas[i]);
	}
	check_blocks(cache, &fuzzed->program);
	check_links(cache);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint64_t bases[] = {0x400000, 0x210000000000, 0x7ffff0000000, 0x7fffff00};
	static const uint64_t arenas[] = {0x10000000, 0x210040000000, 0x210040000000, 0x10000000};
	static uint8_t *hosts[N_ARENAS], *before[N_ARENAS];
	if (size < 3)
		return 0;
	for (int i = 0; i < N_ARENAS && !hosts[i]; i++) {
		hosts[i] = malloc(ARENA_SIZE);
		before[i] = malloc(ARENA_SIZE);
		require(hosts[i] && before[i]);
		memset(hosts[i], FILL, ARENA_SIZE);
	}
	const size_t n = size - 2 < MAX_CODE ? size - 2 : MAX_CODE;
	uint8_t *code =
		malloc(n); /* of exactly this size: the sanitizer sees each byte read beyond */
	require(code);
	memcpy(code, data + 2, n);
	struct fuzzed fuzzed = {
		.program = {bases[data[0] & 3], data[1] & 1 ? FAR_BASE : 0, code, n},
		.before = {before[0], before[1]},
		.translator =
			{
				.batch_insns = data[1] & 2 ? 200u : 1u + (data[0] >> 3),
				.quiet = data[0] & 4,
			},
	};
	code_cache_add_arena(&fuzzed.translator.cache, arenas[data[0] & 3], hosts[0], ARENA_SIZE);
	if (data[1] & 1)
		code_cache_add_arena(&fuzzed.translator.cache, FAR_BASE + (16u << 20), hosts[1],
				     ARENA_SIZE);
	fuzzed.translator.source =
		(struct code_source){&fuzzed.program, read_code, locate_code, read_value};
	fuzz(&fuzzed, data + 2, n);
	for (int i = 0; i < N_ARENAS; i++)
		memset(hosts[i], FILL, fuzzed.translator.cache.arenas[i].used);
	free(fuzzed.translator.new_entries);
	code_cache_deinit(&fuzzed.translator.cache);
	free(code);
	return 0;
}
