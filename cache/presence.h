/* Whether any core may have a line in its private caches: counts of copies by a hash of the line.
 *
 * With many cores most lines are in no other one; a count of none saves the search.  A count that
 * is full stays so. */
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PRESENCE_FULL UINT16_MAX

struct presence {
	uint16_t *counts; /* NULL: not kept */
	unsigned shift;   /* 64 − bits of their number */
};

static inline uint16_t *presence_at(const struct presence *presence, unsigned slot, uint32_t line)
{
	uint64_t key = ((uint64_t)slot << 32 | line) * UINT64_C(0x9e3779b97f4a7c15);
	return &presence->counts[key >> presence->shift];
}

static inline void presence_add(const struct presence *presence, unsigned slot, uint32_t line)
{
	uint16_t *count = presence->counts ? presence_at(presence, slot, line) : NULL;
	if (count && *count != PRESENCE_FULL)
		++*count;
}

static inline void presence_remove(const struct presence *presence, unsigned slot, uint32_t line)
{
	uint16_t *count = presence->counts ? presence_at(presence, slot, line) : NULL;
	if (count && *count != PRESENCE_FULL) {
		assert(*count);
		--*count;
	}
}

/* Whether there may be more than `own` copies. */
static inline bool presence_maybe(const struct presence *presence, unsigned slot, uint32_t line,
				  unsigned own)
{
	return !presence->counts || *presence_at(presence, slot, line) > own;
}
