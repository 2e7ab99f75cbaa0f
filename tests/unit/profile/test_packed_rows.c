/* What is packed is what was put in, however it is read. */
#include "profile/packed_rows.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 9, ROWS = 3000 };

static uint64_t next_number(uint64_t *number)
{
	*number = *number * 6364136223846793005u + 1442695040888963407u;
	return *number >> 33;
}

/* Small, large and extreme numbers, and many that are as before. */
static void change(uint64_t row[WORDS], uint64_t *number)
{
	for (int i = 0; i < WORDS; i++)
		switch (next_number(number) % 8) {
		case 0:
			row[i] = next_number(number) % 100;
			break;
		case 1:
			row[i] += next_number(number) - next_number(number);
			break;
		case 2:
			row[i] = next_number(number) % 2 ? UINT64_MAX : UINT64_C(1) << 63;
			break;
		default:
			break;
		}
}

Test(packed_rows, rows_come_back)
{
	static uint64_t given[ROWS][WORDS];
	struct packed_rows rows = {0};
	uint64_t number = 1;
	for (size_t i = 0; i < ROWS; i++) {
		memcpy(given[i], given[i ? i - 1 : 0], sizeof(given[i]));
		change(given[i], &number);
		cr_assert(packed_rows_add(&rows, given[i], sizeof(given[i])));
	}
	cr_assert_eq(rows.n, ROWS);
	struct packed_reader reader = packed_reader_of(&rows);
	for (size_t i = 0; i < ROWS; i++) {
		const void *row = packed_reader_next(&reader);
		cr_assert(row && memcmp(row, given[i], sizeof(given[i])) == 0, "row %zu", i);
	}
	cr_assert_null(packed_reader_next(&reader));
	for (size_t k = 0, at = 0; k < 10 * ROWS; k++) {
		at = next_number(&number) % 4 ? (at + next_number(&number) % 40) % ROWS
					      : next_number(&number) % ROWS;
		const void *row = packed_reader_at(&reader, at);
		cr_assert(memcmp(row, given[at], sizeof(given[at])) == 0, "row %zu", at);
		const void *next = packed_reader_next(&reader);
		cr_assert_eq(next == NULL, at + 1 == ROWS);
		cr_assert(!next || memcmp(next, given[at + 1], sizeof(given[at])) == 0);
	}
	packed_rows_deinit(&rows);
	cr_assert_eq(rows.n, 0);
}

Test(packed_rows, none)
{
	struct packed_rows rows = {0};
	struct packed_reader reader = packed_reader_of(&rows);
	cr_assert_null(packed_reader_next(&reader));
	packed_rows_deinit(&rows);
}
