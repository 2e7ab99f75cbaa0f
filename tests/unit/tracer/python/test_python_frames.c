/* Walks through the memory of this process: chains of frames as an interpreter has them, and such
 * as no interpreter has. */
#include "tests/unit/splitmix.h"
#include "tracer/python/python_frames.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N_WORDS = 1 << 16, FRAME_WORDS = 16, CODE_WORDS = 40 };

/* What an interpreter would have, at fixed places. */
struct world {
	struct python_runtime runtime;
	struct python_walker *walker;
	uint64_t *words;
};

static uint64_t address_of(const void *at)
{
	return (uint64_t)(uintptr_t)at;
}

static struct world make_world(unsigned minor)
{
	struct world world = {.words = calloc(N_WORDS, sizeof(uint64_t)),
			      .walker = calloc(1, sizeof(struct python_walker))};
	const uint8_t head[PYTHON_DEBUG_OFFSETS] = {0};
	cr_assert(world.words && world.walker);
	cr_assert(python_layout_find((uint64_t)3 << 24 | minor << 16, head, &world.runtime.layout));
	world.runtime.code_type = 4711;
	world.walker->pid = getpid();
	world.walker->codes = python_codes_create();
	cr_assert(world.walker->codes);
	return world;
}

static void destroy(struct world *world)
{
	python_codes_destroy(world->walker->codes);
	free(world->walker);
	free(world->words);
}

static void put(void *base, size_t offset, uint64_t value, size_t size)
{
	memcpy((char *)base + offset, &value, size);
}

static void put_text(const struct python_layout *layout, void *at, const char *text)
{
	put(at, layout->text_length, strlen(text), 8);
	put(at, layout->text_state, 1 << 2 | 1 << 5 | 1 << 6, 4);
	strcpy((char *)at + layout->text_ascii, text);
}

/* A code object with a table of two entries: 4 code units at the first line, 4 at the next. */
static void put_code(const struct world *world, uint64_t *at, const char *name)
{
	const struct python_layout *layout = &world->runtime.layout;
	uint64_t *file = at + CODE_WORDS, *qualname = file + 20, *table = qualname + 20;
	const uint8_t entries[] = {0x80 | 10 << 3 | 3, 0, 0, 0x80 | 11 << 3 | 3, 0, 0};
	put_text(layout, file, "a.py");
	put_text(layout, qualname, name);
	put(table, layout->bytes_size, sizeof(entries), 8);
	memcpy((char *)table + layout->bytes_data, entries, sizeof(entries));
	put(at, layout->object_type, world->runtime.code_type, 8);
	put(at, layout->bytes_size, 8, 8);
	put(at, layout->code_first_line, 10, 4);
	put(at, layout->code_filename, address_of(file), 8);
	put(at, layout->code_qualname, address_of(qualname), 8);
	put(at, layout->code_linetable, address_of(table), 8);
}

static void put_frame(const struct world *world, uint64_t *at, const uint64_t *code,
		      unsigned instruction, const uint64_t *previous, bool is_entry)
{
	const struct python_layout *layout = &world->runtime.layout;
	put(at, layout->frame_code, address_of(code), 8);
	put(at, layout->frame_previous, address_of(previous), 8);
	put(at, layout->frame_instruction,
	    address_of(code) + layout->code_instructions + 2 * instruction, 8);
	if (layout->frame_is_entry)
		put(at, layout->frame_is_entry, is_entry, 1);
}

/* The state of a thread at word 0, its cframe at word 100. */
static void put_state(const struct world *world, const uint64_t *frame)
{
	const struct python_layout *layout = &world->runtime.layout;
	put(world->words, layout->thread_frame, address_of(world->words + 100), 8);
	put(world->words + 100, layout->cframe_frame, address_of(frame), 8);
	put(world->words, layout->thread_chunk, address_of(world->words + 1000), 8);
}

static enum python_walk_result walk(const struct world *world, size_t *n)
{
	struct python_thread_hint hint = {0};
	world->walker->runtime = &world->runtime;
	return python_walk(world->walker, address_of(world->words), &hint, n);
}

Test(python_frames, chain_of_each_version)
{
	for (unsigned minor = 11; minor <= 12; minor++) {
		struct world world = make_world(minor);
		uint64_t *code = world.words + 200, *frames = world.words + 1000;
		uint64_t *far = world.words + 30000; /* a generator's */
		const struct python_function *function;
		size_t n;
		put_code(&world, code, "outer");
		put_code(&world, code + 200, "inner");
		put_frame(&world, frames, code, 1, minor == 12 ? frames + 64 : NULL, true);
		put_frame(&world, frames + FRAME_WORDS, code + 200, 5, frames, false);
		put_frame(&world, far, code, 7, frames + FRAME_WORDS, false);
		put(frames + 64, world.runtime.layout.frame_owner, PYTHON_OWNER_C_STACK, 1);
		put_state(&world, far);
		cr_assert_eq(walk(&world, &n), WALK_DONE);
		cr_assert_eq(n, 3);
		const struct python_frame *got = world.walker->frames;
		cr_expect(got[0].line == 11 && got[1].line == 11 && got[2].line == 10);
		cr_expect(!got[0].is_entry && !got[1].is_entry && got[2].is_entry);
		cr_expect_eq(got[0].function, got[2].function);
		function = python_codes_function(world.walker->codes, got[1].function);
		cr_expect_str_eq(function->name, "inner");
		cr_expect_str_eq(function->file, "a.py");
		cr_expect_eq(function->first_line, 10);
		/* another code object in its place */
		put_code(&world, code + 400, "other");
		memcpy(code + 200, code + 400, CODE_WORDS * sizeof(*code));
		cr_assert_eq(walk(&world, &n), WALK_DONE);
		function = python_codes_function(world.walker->codes, got[1].function);
		cr_expect_str_eq(function->name, "other");
		destroy(&world);
	}
}

Test(python_frames, what_is_torn_gives_nothing)
{
	struct world world = make_world(11);
	uint64_t *code = world.words + 200, *frames = world.words + 1000;
	size_t n;
	put_code(&world, code, "f");
	put_state(&world, NULL);
	cr_assert_eq(walk(&world, &n), WALK_DONE);
	cr_expect_eq(n, 0, "no Python runs");
	/* its last frame is no entry: the chain was cut */
	put_frame(&world, frames, code, 1, NULL, false);
	put_state(&world, frames);
	cr_expect_eq(walk(&world, &n), WALK_TORN);
	/* an instruction behind the code */
	put_frame(&world, frames, code, 8, NULL, true);
	cr_expect_eq(walk(&world, &n), WALK_TORN);
	/* a pointer to nowhere */
	put_frame(&world, frames, code, 1, (const uint64_t *)8, false);
	cr_expect_eq(walk(&world, &n), WALK_TORN);
	/* a circle ends */
	put_frame(&world, frames, code, 1, frames, false);
	cr_expect_eq(walk(&world, &n), WALK_DONE);
	cr_expect_eq(n, PYTHON_MAX_FRAMES);
	cr_expect_eq(python_walk(world.walker, 8, &(struct python_thread_hint){0}, &n),
		     WALK_FAILED);
	destroy(&world);
}

/* Memory full of pointers into itself, and of small numbers. */
Test(python_frames, memory_of_any_kind)
{
	uint64_t random = 3;
	for (int round = 0; round < 300; round++) {
		struct world world = make_world(11 + round % 2);
		size_t n;
		world.runtime.code_type = address_of(world.words + 1);
		for (size_t i = 0; i < N_WORDS; i++) {
			const uint64_t number = random_number(&random);
			const uint64_t inside = address_of(world.words + number % 1024);
			world.words[i] = number >> 62 == 0   ? number
					 : number >> 62 == 1 ? number & 255
					 : number >> 62 == 2 ? world.runtime.code_type
							     : inside;
		}
		const enum python_walk_result result = walk(&world, &n);
		cr_assert(result == WALK_DONE || result == WALK_TORN);
		cr_assert_leq(n, PYTHON_MAX_FRAMES);
		destroy(&world);
	}
}

Test(python_frames, offsets_that_make_no_sense)
{
	struct python_layout layout;
	uint64_t random = 4, head[PYTHON_DEBUG_OFFSETS / 8] = {0};
	cr_expect_not(python_layout_find(0x030a0000, (const uint8_t *)head, &layout));
	cr_expect_not(python_layout_find(0x020b0000, (const uint8_t *)head, &layout));
	for (int round = 0; round < 100000; round++) {
		for (size_t i = 0; i < sizeof(head) / sizeof(*head); i++)
			head[i] = random_number(&random) >> random_number(&random) % 64;
		memcpy(head, "xdebugpy", 8);
		if (!python_layout_find(0x030d00f0, (const uint8_t *)head, &layout))
			continue;
		cr_assert_leq(layout.code_size, PYTHON_MAX_CODE);
		cr_assert_leq(layout.frame_size, PYTHON_MAX_FRAME);
		cr_assert_leq(layout.thread_size, PYTHON_MAX_THREAD_STATE);
	}
}
