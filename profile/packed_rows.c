/* A row is a mask of the words that are not as in the row before, and for each of them by how much
 * it is more or less.  The first one of a group comes behind zeros, so that it can be read first.
 */
#include "profile/packed_rows.h"

#include "base/array.h"
#include "base/leb128.h"

#include <assert.h>

#define GROUP 16 /* rows */
#define MOST_BYTES ((PACKED_WORDS + 1) * LEB128_MOST)

/* Small where the difference is small, whichever way. */
static uint64_t folded(uint64_t difference)
{
	return difference << 1 ^ -(difference >> 63);
}

static uint64_t unfolded(uint64_t number)
{
	return number >> 1 ^ -(number & 1);
}

static bool has_room(struct packed_rows *rows)
{
	bool ok = true;
	while (ok && rows->cap_bytes < rows->n_bytes + MOST_BYTES)
		ok = rf_array_reserve((void **)&rows->bytes, rows->cap_bytes, &rows->cap_bytes, 1);
	return ok;
}

bool packed_rows_add(struct packed_rows *rows, const void *row, size_t size)
{
	uint64_t words[PACKED_WORDS], mask = 0;
	assert(size % 8 == 0 && size <= sizeof(words) && (!rows->n || rows->n_words == size / 8));
	if (rows->n >= UINT32_MAX || !has_room(rows) ||
	    (rows->n % GROUP == 0 &&
	     !rf_array_push(rows->groups, rows->n_groups, rows->cap_groups, rows->n_bytes)))
		return false;
	if (rows->n % GROUP == 0)
		memset(rows->last, 0, sizeof(rows->last));
	memcpy(words, row, size);
	rows->n_words = size / 8;
	for (size_t i = 0; i < rows->n_words; i++)
		mask |= (uint64_t)(words[i] != rows->last[i]) << i;
	uint8_t *to = leb128_put(rows->bytes + rows->n_bytes, mask);
	for (; mask; mask &= mask - 1) {
		const int i = __builtin_ctzll(mask);
		to = leb128_put(to, folded(words[i] - rows->last[i]));
		rows->last[i] = words[i];
	}
	rows->n_bytes = (size_t)(to - rows->bytes);
	rows->n++;
	return true;
}

void packed_rows_deinit(struct packed_rows *rows)
{
	free(rows->bytes);
	free(rows->groups);
	*rows = (struct packed_rows){0};
}

struct packed_reader packed_reader_of(const struct packed_rows *rows)
{
	return (struct packed_reader){.rows = rows};
}

const void *packed_reader_next(struct packed_reader *reader)
{
	const struct packed_rows *rows = reader->rows;
	if (reader->next >= rows->n)
		return NULL;
	if (reader->next++ % GROUP == 0)
		memset(reader->row, 0, rows->n_words * sizeof(*reader->row));
	uint64_t mask = leb128_get(rows->bytes, rows->n_bytes, &reader->at);
	for (; mask; mask &= mask - 1)
		reader->row[__builtin_ctzll(mask)] +=
			unfolded(leb128_get(rows->bytes, rows->n_bytes, &reader->at));
	return reader->row;
}

const void *packed_reader_at(struct packed_reader *reader, size_t number)
{
	const size_t group = number / GROUP;
	assert(number < reader->rows->n);
	if (number < reader->next || group * GROUP > reader->next) {
		reader->next = group * GROUP;
		reader->at = reader->rows->groups[group];
	}
	while (reader->next < number)
		(void)packed_reader_next(reader);
	return packed_reader_next(reader);
}
