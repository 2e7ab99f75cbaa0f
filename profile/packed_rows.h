/* Rows of numbers, most of which are as in the row before or small: each is kept as what differs.
 * They are read one after the other, or a few at a time. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PACKED_WORDS 32 /* of 8 bytes, that a row has at most */

struct packed_rows {
	size_t n;
	size_t n_words; /* of a row */
	uint8_t *bytes;
	size_t n_bytes, cap_bytes;
	size_t *groups; /* where groups of rows begin in `bytes` */
	size_t n_groups, cap_groups;
	uint64_t last[PACKED_WORDS]; /* row */
};

/* Appends a row of `size` bytes, a multiple of 8, the same for all rows.  False: memory is short,
 * or there are as many rows as there may be. */
bool packed_rows_add(struct packed_rows *rows, const void *row, size_t size);
void packed_rows_deinit(struct packed_rows *rows);

/* Reads rows that do not change meanwhile. */
struct packed_reader {
	const struct packed_rows *rows;
	size_t next, at; /* the number of the next row, and where it is in `bytes` */
	uint64_t row[PACKED_WORDS];
};
struct packed_reader packed_reader_of(const struct packed_rows *rows);
/* The next row, in the reader; NULL: there is none. */
const void *packed_reader_next(struct packed_reader *reader);
/* The row of that number, and the next ones are those behind it. */
const void *packed_reader_at(struct packed_reader *reader, size_t number);
