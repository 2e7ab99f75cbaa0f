/* Lines of code objects: the location table of CPython 3.11 and later (co_linetable,
 * Objects/locations.md of its sources). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Instructions from the byte `start` of the code on, up to the next row's, are of this line. */
struct python_line {
	uint32_t start;
	uint32_t line; /* 0: of none */
};

struct python_lines {
	struct python_line *rows; /* in ascending order, the first starts at 0 */
	size_t n_rows, cap_rows;
	uint32_t end; /* bytes of code that the table is about */
};

enum python_locations_result { LOCATIONS_DONE, LOCATIONS_BROKEN, LOCATIONS_NO_MEMORY };
/* Decodes a table; `first_line` is the code object's.  `out` is to be freed by python_lines_deinit
 * when it is done, and empty otherwise: a table that ends within an entry, or leads to lines that
 * there are not, is broken. */
enum python_locations_result python_locations_decode(const uint8_t *table, size_t size,
						     int32_t first_line, struct python_lines *out);
void python_lines_deinit(struct python_lines *lines);
/* The line of the instruction at byte `offset`; 0: not known. */
uint32_t python_lines_find(const struct python_lines *lines, uint32_t offset);
