/* perf-PID.map: which entry names an address, against a plain table of addresses. */
#include "tests/unit/symbols/perf_map_text.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const char *name_at(const char *text, uint64_t address, uint64_t *start)
{
	static char name[PERF_MAP_MAX_NAME + 1];
	struct perf_map *map = perf_map_of(text, strlen(text));
	cr_assert_not_null(map);
	const char *found = perf_map_find(map, address, start);
	if (found)
		strcpy(name, found);
	perf_map_destroy(map);
	return found ? name : NULL;
}

Test(perf_map, the_last_written_entry_holds)
{
	const char *text = "1000 100 old one\n1080 100 new\n1010 8 small\n2000 10 far\n";
	uint64_t start;
	cr_expect_null(name_at(text, 0xfff, &start));
	cr_expect_str_eq(name_at(text, 0x1000, &start), "old one");
	cr_expect_str_eq(name_at(text, 0x1010, &start), "small");
	cr_expect_str_eq(name_at(text, 0x1018, &start), "old one");
	cr_expect_eq(start, 0x1000, "what follows an inner one begins where it began");
	cr_expect_str_eq(name_at(text, 0x1080, &start), "new");
	cr_expect_str_eq(name_at(text, 0x117f, &start), "new");
	cr_expect_null(name_at(text, 0x1180, &start));
	cr_expect_str_eq(name_at(text, 0x200f, &start), "far");
}

Test(perf_map, lines_that_are_none_are_left_out)
{
	const char *text =
		"\nx\n1\n1 2\n1 2 \n5 0 empty\n0x10 0x10 with prefix\r\nffffffffffffffff 2 wraps\n"
		"11111111111111111 1 long\n30 1 last line";
	uint64_t start;
	struct perf_map *map = perf_map_of(text, strlen(text));
	cr_assert_not_null(map);
	cr_expect_eq(perf_map_n_ranges(map), 2);
	perf_map_destroy(map);
	cr_expect_str_eq(name_at(text, 0x1f, &start), "with prefix");
	cr_expect_str_eq(name_at(text, 0x30, &start), "last line");
	cr_expect_null(name_at("", 0, &start));
}

Test(perf_map, random_overlaps_are_as_in_a_table)
{
	enum { SPACE = 512, LINES = 60 };
	for (unsigned round = 0; round < 300; round++) {
		char text[LINES * 32] = "";
		int owner[SPACE + 64];
		memset(owner, 0xff, sizeof(owner));
		srand(round);
		for (int i = 0; i < LINES; i++) {
			unsigned start = (unsigned)rand() % SPACE, size = (unsigned)rand() % 64 + 1;
			sprintf(text + strlen(text), "%x %x f%d\n", start, size, i);
			for (unsigned k = start; k < start + size; k++)
				owner[k] = i;
		}
		struct perf_map *map = perf_map_of(text, strlen(text));
		cr_assert_not_null(map);
		for (int at = 0; at < SPACE + 64; at++) {
			uint64_t start;
			char wanted[16];
			const char *name = perf_map_find(map, (uint64_t)at, &start);
			sprintf(wanted, "f%d", owner[at]);
			cr_assert(owner[at] < 0 ? !name : name && strcmp(name, wanted) == 0,
				  "round %u, address %x: %s, not %s", round, at,
				  name ? name : "none", wanted);
		}
		perf_map_destroy(map);
	}
}

/* Of too long a file the end is kept, of too many entries the last ones. */
Test(perf_map, memory_is_bounded)
{
	const size_t lines = PERF_MAP_MAX_ENTRIES + 1000;
	char *text = malloc(lines * 24), *to = text;
	cr_assert_not_null(text);
	for (size_t i = 0; i < lines; i++)
		to += sprintf(to, "%zx 10 f%zu\n", (i + 1) * 16, i);
	struct perf_map *map = perf_map_of(text, (size_t)(to - text));
	uint64_t start;
	cr_assert_not_null(map);
	cr_expect_eq(perf_map_n_ranges(map), PERF_MAP_MAX_ENTRIES);
	cr_expect_null(perf_map_find(map, 16, &start));
	cr_expect_not_null(perf_map_find(map, lines * 16, &start));
	perf_map_destroy(map);
	free(text);
}
