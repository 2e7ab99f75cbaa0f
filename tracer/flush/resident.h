/* Which memory of a process may be in a cache: pages of data that are there. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct resident_range {
	uint64_t start, end;
};

struct resident {
	struct resident_range *ranges; /* whole pages, sorted */
	size_t n_ranges, cap_ranges;
	uint64_t bytes; /* of all */
};

/* The pages of all mappings that may be read, hold no code, are no device's and have a page behind
 * the address now (/proc/PID/maps and pagemap; Documentation/admin-guide/mm/pagemap.rst).  False:
 * they cannot be read, or memory is short.  What there is of it is to be freed in any case.
 * Mappings of 1 TB and more, as sanitizers have them, are left out. */
bool resident_read(pid_t pid, struct resident *resident);
void resident_deinit(struct resident *resident);
