/* jit-PID.dump: which function holds an address at a time, against a plain table of both. */
#include "tests/unit/splitmix.h"
#include "tests/unit/symbols/jit_dump_file.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum { LOAD, MOVE, LINES, SPACE = 3 * 4096, BASE = 0x7000, TIMES = 40, NAMES = 8 };

struct file {
	uint8_t bytes[1 << 16];
	size_t size;
};

static void put(struct file *file, const void *bytes, size_t size)
{
	cr_assert(file->size + size <= sizeof(file->bytes));
	memcpy(file->bytes + file->size, bytes, size);
	file->size += size;
}

static void put_header(struct file *file, uint64_t flags)
{
	const uint32_t words[] = {0x4a695444, 1, 48, 62, 0, 1};
	const uint64_t rest[] = {5, flags, 0}; /* longer than this version needs */
	file->size = 0;
	put(file, words, sizeof(words));
	put(file, rest, sizeof(rest));
}

static void put_record(struct file *file, uint32_t kind, uint64_t time, const void *body,
		       size_t size)
{
	const uint32_t head[] = {kind, (uint32_t)size + 16};
	put(file, head, sizeof(head));
	put(file, &time, sizeof(time));
	put(file, body, size);
}

static void put_load(struct file *file, uint64_t time, uint64_t at, uint64_t size, uint64_t index,
		     const char *name)
{
	uint64_t body[5 + 8] = {1, 0, at, size, index};
	cr_assert(strlen(name) < 32);
	strcpy((char *)(body + 5), name);
	put_record(file, LOAD, time, body, 5 * 8 + strlen(name) + 1 + 4); /* code: 4 bytes */
}

static void put_move(struct file *file, uint64_t time, uint64_t from, uint64_t to, uint64_t size,
		     uint64_t index)
{
	const uint64_t body[] = {1, 0, from, to, size, index};
	put_record(file, MOVE, time, body, sizeof(body));
}

static struct jit_dump *dump_of(const struct file *file, bool confined)
{
	return jit_dump_of(file->bytes, file->size, confined);
}

static const char *at(const struct jit_dump *dump, uint64_t address, uint64_t time)
{
	struct jit_code code;
	return jit_dump_find(dump, address, time, &code) ? code.name : "";
}

/* Functions that are loaded, some of them moved, over each other.  owner: of each time and address
 * the number of the function plus 1. */
static void make_file(struct file *file, uint64_t *state, uint8_t owner[TIMES][SPACE])
{
	static uint8_t changes[TIMES][SPACE]; /* 255: none; else owner from then on */
	struct {
		uint64_t at, size;
	} places[NAMES] = {0};
	memset(changes, 255, sizeof(changes));
	put_header(file, 0);
	for (unsigned i = 0; i < NAMES; i++) {
		char name[16];
		unsigned time = i * (TIMES / NAMES);
		snprintf(name, sizeof(name), "f%u", i);
		places[i].size = 1 + random_number(state) % 2000;
		places[i].at = random_number(state) % (SPACE - places[i].size);
		put_load(file, time, BASE + places[i].at, places[i].size, i, name);
		memset(changes[time] + places[i].at, (int)i + 1, places[i].size);
		if (random_number(state) % 2)
			continue;
		const uint64_t to = random_number(state) % (SPACE - places[i].size);
		time += 1 + (unsigned)(random_number(state) % 3);
		put_move(file, time, BASE + places[i].at, BASE + to, places[i].size, i);
		memset(changes[time] + places[i].at, 0, places[i].size);
		memset(changes[time] + to, (int)i + 1, places[i].size);
	}
	for (int time = 0; time < TIMES; time++)
		for (int k = 0; k < SPACE; k++)
			owner[time][k] = changes[time][k] != 255 ? changes[time][k]
					 : time                  ? owner[time - 1][k]
								 : 0;
}

Test(jit_dump, holds_what_a_table_says)
{
	static struct file file;
	static uint8_t owner[TIMES][SPACE];
	uint64_t state = 3;
	for (int round = 0; round < 60; round++) {
		make_file(&file, &state, owner);
		struct jit_dump *dump = dump_of(&file, round % 20 == 0);
		cr_assert(dump && !jit_dump_unused(dump));
		for (int time = 0; time < TIMES; time++)
			for (int k = 0; k < SPACE; k += 7) {
				char wanted[16] = "";
				if (owner[time][k])
					snprintf(wanted, sizeof(wanted), "f%d", owner[time][k] - 1);
				cr_assert_str_eq(at(dump, BASE + (uint64_t)k, (uint64_t)time),
						 wanted);
			}
		jit_dump_destroy(dump);
	}
}

Test(jit_dump, threads_may_write_later_what_came_earlier)
{
	static struct file file;
	struct jit_code code;
	put_header(&file, 0);
	put_load(&file, 20, 0x1000, 16, 1, "later");
	put_load(&file, 10, 0x1000, 64, 2, "earlier");
	struct jit_dump *dump = dump_of(&file, false);
	cr_assert(dump);
	cr_expect_str_eq(at(dump, 0x1008, 9), "");
	cr_expect_str_eq(at(dump, 0x1008, 10), "earlier");
	cr_expect_str_eq(at(dump, 0x1008, 25), "later");
	cr_assert(jit_dump_find(dump, 0x1010, 25, &code));
	cr_expect(strcmp(code.name, "earlier") == 0 && code.start == 0x1000 && code.size == 64 &&
		  code.time == 10);
	jit_dump_destroy(dump);
}

Test(jit_dump, another_clock_is_said)
{
	static struct file file;
	put_header(&file, 1);
	put_load(&file, UINT64_MAX, 0x1000, 16, UINT64_MAX, "old");
	put_load(&file, 0, 0x1000, 16, 1, "new");
	struct jit_dump *dump = dump_of(&file, true);
	cr_assert(dump && jit_dump_unused(dump) == JIT_DUMP_CLOCK);
	cr_expect_str_eq(at(dump, 0x1008, 5), "new");
	jit_dump_destroy(dump);
}

static void put_lines(struct file *file, uint64_t time, uint64_t at, uint64_t bias,
		      const char *last)
{
	uint8_t body[128];
	size_t size = 16;
	const uint64_t head[] = {at, 3};
	const struct {
		uint64_t address;
		uint32_t line, discriminator;
	} entries[] = {{at + bias, 4, 0}, {at + bias + 8, 6, 0}, {at + bias + 4, 5, 0}};
	const char *const names[] = {"a.js", "\xff", last};
	memcpy(body, head, sizeof(head));
	for (int i = 0; i < 3; i++) {
		memcpy(body + size, &entries[i], sizeof(entries[i]));
		strcpy((char *)body + size + 16, names[i]);
		size += 16 + strlen(names[i]) + 1;
	}
	put_record(file, LINES, time, body, size);
}

static void check_lines(const struct jit_dump *dump, uint64_t address, uint64_t time)
{
	struct jit_code code;
	cr_assert(jit_dump_find(dump, address, time, &code) && code.n_lines == 2);
	cr_expect(code.lines[0].offset == 0 && code.lines[0].line == 4);
	cr_expect(code.lines[1].offset == 8 && code.lines[1].line == 6);
	cr_expect_str_eq(code.lines[1].file, "a.js");
}

/* Lines are of the code that is loaded next, wherever it goes. */
Test(jit_dump, lines_go_with_their_code)
{
	static struct file file;
	put_header(&file, 0);
	put_lines(&file, 9, 0x1000, 0, "b.js");
	put_load(&file, 10, 0x1000, 16, 1, "with");
	put_load(&file, 11, 0x1000, 16, 2, "without");
	put_move(&file, 12, 0x1000, 0x3000, 16, 1);
	put_lines(&file, 13, 0x5000, 64, "b.js"); /* as V8 */
	put_load(&file, 14, 0x5000, 16, 3, "biased");
	for (int confined = 0; confined < 2; confined++) {
		struct jit_dump *dump = dump_of(&file, confined);
		struct jit_code code;
		cr_assert(dump && !jit_dump_unused(dump));
		cr_assert(jit_dump_find(dump, 0x1000, 11, &code) && code.n_lines == 0);
		check_lines(dump, 0x3000, 12);
		check_lines(dump, 0x5000, 14);
		jit_dump_destroy(dump);
	}
}

/* Of a record of which a part makes no sense nothing is told, and that is said. */
Test(jit_dump, lines_without_sense_are_none)
{
	static struct file file;
	for (int kind = 0; kind < 3; kind++) {
		put_header(&file, 0);
		put_lines(&file, 9, 0x1000, 0, kind == 0 ? "a\x04" : "b.js");
		if (kind == 1) /* one entry fewer than there are */
			file.bytes[48 + 16 + 8] = 2;
		put_load(&file, 10, 0x1000, kind == 2 ? 8 : 16, 1, "function");
		struct jit_dump *dump = dump_of(&file, false);
		struct jit_code code;
		cr_assert(dump && jit_dump_unused(dump) == JIT_DUMP_LINES, "%d", kind);
		cr_assert(jit_dump_find(dump, 0x1000, 11, &code) && code.n_lines == 0);
		jit_dump_destroy(dump);
	}
}

/* Any bytes changed, and cut anywhere: no crash, and both ways of reading agree. */
Test(jit_dump, damage_is_harmless)
{
	static struct file file, damaged;
	static uint8_t owner[TIMES][SPACE];
	uint64_t state = 5;
	make_file(&file, &state, owner);
	put_lines(&file, 90, BASE, 0, "b.js");
	put_load(&file, 91, BASE, 100, 99, "last");
	for (int round = 0; round < 3000; round++) {
		damaged = file;
		for (uint64_t n = random_number(&state) % 6; n > 0; n--)
			damaged.bytes[random_number(&state) % damaged.size] =
				(uint8_t)random_number(&state);
		if (random_number(&state) % 2)
			damaged.size = random_number(&state) % (damaged.size + 1);
		struct jit_dump *dump = dump_of(&damaged, false);
		struct jit_dump *twin = round % 100 ? NULL : dump_of(&damaged, true);
		if (round % 100 == 0)
			cr_assert_eq(!dump, !twin);
		for (int k = 0; dump && k < SPACE; k += 97) {
			const char *name = at(dump, BASE + (uint64_t)k, TIMES);
			cr_assert(strlen(name) <= JIT_DUMP_MAX_NAME);
			if (twin)
				cr_assert_str_eq(at(twin, BASE + (uint64_t)k, TIMES), name);
		}
		jit_dump_destroy(dump);
		jit_dump_destroy(twin);
	}
}
