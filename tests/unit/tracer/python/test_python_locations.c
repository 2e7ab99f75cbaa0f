/* Location tables: of CPython, whose lines it told itself, and random ones against what made them.
 */
#include "tests/unit/splitmix.h"
#include "tracer/python/python_locations.h"

#include <criterion/criterion.h>
#include <string.h>

enum { MAX_ENTRIES = 60, MAX_BYTES = 4096 };

struct writer {
	uint8_t bytes[MAX_BYTES];
	size_t n;
};

static void put_number(struct writer *writer, uint32_t number)
{
	for (; number >= 64; number >>= 6)
		writer->bytes[writer->n++] = (number & 63) | 64;
	writer->bytes[writer->n++] = (uint8_t)number;
}

static void put_signed(struct writer *writer, int32_t number)
{
	put_number(writer, number < 0 ? (uint32_t)-number << 1 | 1 : (uint32_t)number << 1);
}

/* An entry for `units` code units that leads from `line` to `next` (0: no line). */
static void put_entry(struct writer *writer, unsigned units, int32_t line, int32_t next,
		      uint64_t *random)
{
	uint8_t *first = &writer->bytes[writer->n++];
	const int32_t delta = next - line;
	unsigned kind = 13 + random_number(random) % 2;
	if (!next)
		kind = 15;
	else if (delta == 0 && random_number(random) % 2)
		kind = random_number(random) % 10;
	else if (delta >= 0 && delta <= 2 && random_number(random) % 2)
		kind = 10 + (unsigned)delta;
	*first = (uint8_t)(0x80 | kind << 3 | (units - 1));
	for (unsigned i = 0; kind <= 12 && i < 1 + (kind >= 10); i++)
		writer->bytes[writer->n++] = random_number(random) & 127;
	if (kind == 13 || kind == 14)
		put_signed(writer, delta);
	for (int i = 0; kind == 14 && i < 3; i++)
		put_number(writer, (uint32_t)random_number(random) & 0xfffff);
}

Test(python_locations, random_tables)
{
	uint64_t random = 1;
	for (int round = 0; round < 3000; round++) {
		struct writer writer = {.n = 0};
		uint32_t lines[MAX_ENTRIES * 8];
		size_t n_units = 0;
		int32_t line = 1 + (int32_t)(random_number(&random) % 100000);
		const int32_t first_line = line;
		for (size_t n = random_number(&random) % MAX_ENTRIES; n > 0; n--) {
			const unsigned units = 1 + random_number(&random) % 8;
			int32_t next = line - 3 + (int32_t)(random_number(&random) % 8);
			if (random_number(&random) % 8 == 0)
				next = 1 + (int32_t)(random_number(&random) % 1000000);
			if (random_number(&random) % 9 == 0 || next < 0)
				next = 0;
			put_entry(&writer, units, line, next, &random);
			line = next ? next : line;
			for (unsigned i = 0; i < units; i++)
				lines[n_units++] = (uint32_t)next;
		}
		struct python_lines decoded;
		cr_assert_eq(python_locations_decode(writer.bytes, writer.n, first_line, &decoded),
			     LOCATIONS_DONE);
		cr_assert_eq(decoded.end, 2 * n_units);
		for (size_t i = 0; i < 2 * n_units; i++)
			cr_assert_eq(python_lines_find(&decoded, (uint32_t)i), lines[i / 2]);
		cr_assert_eq(python_lines_find(&decoded, decoded.end), 0);
		python_lines_deinit(&decoded);
	}
}

/* What is cut off, or changed, is decoded to something or is broken; it ends. */
Test(python_locations, damaged_tables)
{
	uint64_t random = 2;
	for (int round = 0; round < 100000; round++) {
		uint8_t bytes[64];
		const size_t n = random_number(&random) % (sizeof(bytes) + 1);
		struct python_lines decoded;
		for (size_t i = 0; i < n; i++)
			bytes[i] = (uint8_t)random_number(&random) | (i % 3 ? 0 : 0x80);
		const enum python_locations_result result =
			python_locations_decode(bytes, n, (int32_t)(random_number(&random) >> 33),
						&decoded);
		cr_assert_neq(result, LOCATIONS_NO_MEMORY);
		if (result == LOCATIONS_BROKEN)
			cr_assert_null(decoded.rows);
		for (size_t i = 1; i < decoded.n_rows; i++)
			cr_assert_lt(decoded.rows[i - 1].start, decoded.rows[i].start);
		python_lines_deinit(&decoded);
	}
}

struct known {
	const char *table;
	size_t size;
	int32_t first_line;
	struct python_line rows[16];
	size_t n_rows;
	uint32_t end;
};

#define TABLE_OF(bytes) bytes, sizeof(bytes) - 1

/* co_linetable, co_firstlineno and co_lines() of functions, printed by the Python that is named;
 * rows of equal lines that follow each other are joined. */
static const struct known known[] = {
	/* plain, 3.11.2 */
	{TABLE_OF("\x80\x00\xd8\x08\x09\x88\x41\x89\x05\x80\x41\xd8\x0c\x0d\xd8\x0c\x0d\xd8\x0c\x0d"
		  "\xf0\x05\x02\x0c\x0f\xf0\x00\x02\x05\x0f"),
	 2,
	 {{0, 2}, {2, 3}, {12, 4}, {14, 5}, {16, 6}, {18, 4}},
	 6,
	 22},
	/* loop, 3.11.2 */
	{TABLE_OF("\x80\x00\xd8\x0c\x0d\x80\x45\xd8\x10\x15\xf0\x00\x04\x05\x11\xf0\x00\x04\x05\x11"
		  "\x88\x04\xf0\x02\x03\x09\x11\xd8\x0c\x11\x90\x54\x89\x4d\x88\x45\x88\x45\xf8\xdd"
		  "\x0f\x18\xf0\x00\x01\x09\x11\xf0\x00\x01\x09\x11\xf0\x00\x01\x09\x11\xd8\x0c\x10"
		  "\x88\x44\xf0\x03\x01\x09\x11\xf8\xf8\xf8\xf0\x06\x00\x0c\x11\x80\x4c"),
	 9,
	 {{0, 9},
	  {2, 10},
	  {6, 11},
	  {14, 12},
	  {16, 13},
	  {28, 0},
	  {30, 14},
	  {48, 15},
	  {52, 14},
	  {54, 0},
	  {60, 17}},
	 11,
	 64},
	/* generator, 3.11.2 */
	{TABLE_OF("\xe8\x00\xe8\x00\x80\x00\xdd\x0d\x12\x90\x31\x89\x58\x8c\x58\xf0\x00\x04\x05\x0e"
		  "\xf0\x00\x04\x05\x0e\x88\x01\xf0\x06\x00\x0f\x10\xd8\x0c\x0d\xf1\x03\x01\x0f\x0e"
		  "\xf0\x00\x01\x09\x0e\xf0\x00\x01\x09\x0e\xf0\x00\x01\x09\x0e\xf0\x00\x01\x09\x0e"
		  "\xf0\x07\x04\x05\x0e\xf0\x00\x04\x05\x0e"),
	 20,
	 {{0, 20}, {6, 21}, {40, 24}, {42, 25}, {44, 24}, {56, 21}},
	 6,
	 60},
	/* plain, 3.12.1 */
	{TABLE_OF("\x80\x00\xd8\x08\x09\x88\x41\x89\x05\x80\x41\xd8\x0c\x0d\xd8\x0c\x0d\xd8\x0c\x0d"
		  "\xf0\x05\x02\x0c\x0f\xf0\x00\x02\x05\x0f"),
	 2,
	 {{0, 2}, {2, 3}, {12, 4}, {14, 5}, {16, 6}, {18, 4}},
	 6,
	 22},
	/* loop, 3.12.1 */
	{TABLE_OF("\x80\x00\xd8\x0c\x0d\x80\x45\xd8\x10\x15\xf2\x00\x04\x05\x11\x88\x04\xf0\x02\x03"
		  "\x09\x11\xd8\x0c\x11\x90\x54\x89\x4d\x89\x45\xf0\x05\x04\x05\x11\xf0\x0c\x00\x0c"
		  "\x11\x80\x4c\xf8\xf4\x07\x00\x10\x19\xf2\x00\x01\x09\x11\xd9\x0c\x10\xf0\x03\x01"
		  "\x09\x11\xfa"),
	 9,
	 {{0, 9},
	  {2, 10},
	  {6, 11},
	  {16, 12},
	  {18, 13},
	  {30, 11},
	  {32, 17},
	  {36, 0},
	  {38, 14},
	  {54, 15},
	  {58, 14},
	  {60, 0}},
	 12,
	 66},
	/* generator, 3.12.1 */
	{TABLE_OF("\xe8\x00\xf8\x80\x00\xdc\x0d\x12\x90\x31\x8b\x58\xf2\x00\x04\x05\x0e\x88\x01\xf0"
		  "\x06\x00\x0f\x10\xd8\x0c\x0d\xf1\x03\x01\x0f\x0e\xf3\x00\x01\x09\x0e\xf1\x07\x04"
		  "\x05\x0e\xf9"),
	 20,
	 {{0, 20}, {2, 0}, {4, 20}, {6, 21}, {34, 24}, {36, 25}, {38, 24}, {50, 21}, {54, 0}},
	 9,
	 58},
	/* plain, 3.13.0 */
	{TABLE_OF("\x80\x00\xd8\x08\x09\x89\x05\x80\x41\xd8\x0c\x0d\xd8\x0c\x0d\xd8\x0c\x0d\xf0\x05"
		  "\x02\x0c\x0f\xf0\x00\x02\x05\x0f"),
	 2,
	 {{0, 2}, {2, 3}, {10, 4}, {12, 5}, {14, 6}, {16, 4}},
	 6,
	 20},
	/* loop, 3.13.0 */
	{TABLE_OF("\x80\x00\xd8\x0c\x0d\x80\x45\xdb\x10\x15\x88\x04\xf0\x02\x03\x09\x11\xd8\x0c\x11"
		  "\x89\x4d\x8a\x45\xf1\x05\x00\x11\x16\xf0\x0c\x00\x0c\x11\x80\x4c\xf8\xf4\x07\x00"
		  "\x10\x19\xf3\x00\x01\x09\x11\xda\x0c\x10\xf0\x03\x01\x09\x11\xfa"),
	 9,
	 {{0, 9},
	  {2, 10},
	  {6, 11},
	  {16, 12},
	  {18, 13},
	  {30, 11},
	  {34, 17},
	  {38, 0},
	  {40, 14},
	  {58, 15},
	  {64, 14},
	  {66, 0}},
	 12,
	 72},
	/* generator, 3.13.0 */
	{TABLE_OF("\xe9\x00\x80\x00\xdc\x0d\x12\x90\x31\x8e\x58\x88\x01\xf0\x06\x00\x0f\x10\xd8\x0c"
		  "\x0d\xf1\x03\x01\x0f\x0e\xf4\x00\x01\x09\x0e\xf2\x07\x00\x0e\x16\xf9"),
	 20,
	 {{0, 20}, {6, 21}, {34, 24}, {36, 25}, {38, 24}, {52, 21}, {58, 0}},
	 7,
	 62},
};

Test(python_locations, tables_of_python)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		struct python_lines decoded;
		cr_assert_eq(python_locations_decode((const uint8_t *)known[i].table, known[i].size,
						     known[i].first_line, &decoded),
			     LOCATIONS_DONE);
		cr_assert_eq(decoded.end, known[i].end);
		cr_assert_eq(decoded.n_rows, known[i].n_rows);
		for (size_t r = 0; r < decoded.n_rows; r++) {
			cr_assert_eq(decoded.rows[r].start, known[i].rows[r].start);
			cr_assert_eq(decoded.rows[r].line, known[i].rows[r].line);
		}
		python_lines_deinit(&decoded);
	}
}
