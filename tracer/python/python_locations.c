/* The location table of CPython 3.11 and later. */
#include "tracer/python/python_locations.h"

#include "base/array.h"
#include "base/search.h"

/* Each entry begins with a byte that alone has its highest bit set: 4 bits of its kind, 3 of its
 * length in code units, less one.  A code unit has two bytes. */
enum entry_kind {
	SHORT_LAST = 9, /* 0 … 9: the same line, one byte of columns */
	ONE_LINE_FIRST, /* 10 … 12: 0 to 2 lines on, two bytes of columns */
	ONE_LINE_LAST = 12,
	NO_COLUMNS,
	LONG,
	NO_LINE
};

struct reader {
	const uint8_t *at, *end;
	bool broken;
};

static uint8_t next_byte(struct reader *reader)
{
	/* the first byte of an entry within another one */
	if (reader->at == reader->end || *reader->at & 0x80) {
		reader->broken = true;
		return 0;
	}
	return *reader->at++;
}

/* 6 bits a byte, the lowest first; bit 6 says that there are more. */
static uint32_t next_number(struct reader *reader)
{
	uint64_t number = 0;
	uint8_t byte = 0x40;
	for (unsigned shift = 0; byte & 0x40; shift += 6) {
		byte = next_byte(reader);
		if (shift < 36)
			number |= (uint64_t)(byte & 0x3f) << shift;
		if (shift >= 36 || number > UINT32_MAX)
			reader->broken = true;
		if (reader->broken)
			return 0;
	}
	return (uint32_t)number;
}

/* The lowest bit is the sign. */
static int64_t next_signed(struct reader *reader)
{
	const uint32_t number = next_number(reader);
	return number & 1 ? -(int64_t)(number >> 1) : (int64_t)(number >> 1);
}

/* Behind the first byte; returns how many lines it leads on. */
static int64_t read_entry(struct reader *reader, unsigned kind)
{
	int64_t delta = 0;
	if (kind <= SHORT_LAST) {
		next_byte(reader);
	} else if (kind <= ONE_LINE_LAST) {
		delta = kind - ONE_LINE_FIRST;
		next_byte(reader);
		next_byte(reader);
	} else if (kind == NO_COLUMNS) {
		delta = next_signed(reader);
	} else if (kind == LONG) {
		delta = next_signed(reader);
		for (int i = 0; i < 3; i++) /* the end's line, the columns */
			next_number(reader);
	}
	return delta;
}

static bool add_line(struct python_lines *lines, uint32_t line)
{
	if (lines->n_rows && lines->rows[lines->n_rows - 1].line == line)
		return true;
	const struct python_line row = {lines->end, line};
	return rf_array_push(lines->rows, lines->n_rows, lines->cap_rows, row);
}

enum python_locations_result python_locations_decode(const uint8_t *table, size_t size,
						     int32_t first_line, struct python_lines *out)
{
	struct reader reader = {table, table + size, false};
	struct python_lines lines = {0};
	enum python_locations_result result = LOCATIONS_DONE;
	int64_t line = first_line;
	while (reader.at < reader.end && result == LOCATIONS_DONE) {
		const uint8_t first = *reader.at++;
		const unsigned kind = first >> 3 & 15;
		line += read_entry(&reader, kind);
		if (!(first & 0x80) || reader.broken || line < 0 || line > INT32_MAX)
			result = LOCATIONS_BROKEN;
		else if (!add_line(&lines, kind == NO_LINE ? 0 : (uint32_t)line))
			result = LOCATIONS_NO_MEMORY;
		lines.end += 2 * ((first & 7u) + 1);
	}
	*out = (struct python_lines){0};
	if (result == LOCATIONS_DONE)
		*out = lines;
	else
		python_lines_deinit(&lines);
	return result;
}

void python_lines_deinit(struct python_lines *lines)
{
	free(lines->rows);
	*lines = (struct python_lines){0};
}

uint32_t python_lines_find(const struct python_lines *lines, uint32_t offset)
{
	if (offset >= lines->end)
		return 0;
	const size_t n = rf_search(lines->n_rows, i, lines->rows[i].start <= offset);
	return n ? lines->rows[n - 1].line : 0;
}
