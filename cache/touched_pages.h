/* Which pages of this process have been touched.  Memory that was zero at first (calloc of much at
 * once) is so still where it was not; to read it all the same would take a fault for each page. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TOUCHED_WINDOW 512 /* pages that are looked up at a time */

struct touched_pages {
	int fd;                      /* of /proc/self/pagemap, or -1: not known */
	uintptr_t page_bytes, first; /* pages first to first + n - 1 are known */
	size_t n;
	uint64_t entries[TOUCHED_WINDOW];
};

void touched_pages_init(struct touched_pages *pages);
void touched_pages_deinit(struct touched_pages *pages);

/* How many of these bytes, from the first one on, lie on pages that have never been written to nor
 * read, or not since they were given back.  What is touched for the first time while others are
 * asked for may still be taken for untouched. */
size_t touched_pages_gap(struct touched_pages *pages, const void *bytes, size_t size);
