/* Which lines move to and from memory only because the last cache has sets.
 *
 * What comes from memory comes for the first time, or because the cache is too small, or because
 * too many of the lines that are used fall into one set: a fully associative LRU cache of the same
 * size would still have it (Hill, Aspects of Cache Memory and Instruction Buffer Performance, 1987:
 * compulsory, capacity and conflict misses).  It would if fewer lines than it holds were used since
 * the line was used last, as the last cache sees uses: reads and write-backs of the level above.  A
 * write-back to memory is a conflict when the line is changed again before a cache of that kind
 * would have replaced it: that would have written both changes at once.
 *
 * Of some classes of sets alone that distance is an estimate.  Those of the line's own class are
 * known.  The other classes count as those of them that are in a sample: so the distance is right
 * for code that goes to all classes alike, and for code that for a time goes to one alone, which is
 * where conflicts are. */
#pragma once

#include "cache/traffic.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct conflicts;

/* A last cache of `capacity` lines; `sample`: the classes whose lines stand for all others', from
 * beginning to end; events of other classes may come, too.  `max_lines` are followed at most.  NULL
 * when memory is short. */
struct conflicts *conflicts_create(uint64_t capacity, uint64_t sample, size_t max_lines);
void conflicts_destroy(struct conflicts *conflicts);

/* What an event tells. */
struct conflict {
	uint32_t who;       /* for whom a line moved: now, or, of a write-back, before */
	uint64_t moved;     /* so many lines moved to or from memory now; 0: not known, or none */
	uint64_t conflicts; /* so many of those moved because of the sets */
};

/* Whether an event is one that is to be told; of a single level nothing is known. */
static inline bool conflicts_hear(int n_levels, enum traffic event)
{
	return n_levels > 1 && event >= (n_levels > 2 ? TRAFFIC_L3_READ : TRAFFIC_L2_READ) &&
	       event <= TRAFFIC_MEM_NON_TEMPORAL && event != TRAFFIC_L3_CLEAN_VICTIM;
}

/* Every such event of a hierarchy of `n_levels`, in their order. */
struct conflict conflicts_event(struct conflicts *conflicts, int n_levels, enum traffic event,
				uint32_t who, uint64_t line);

/* All caches have been emptied: the next use of each line is its first. */
void conflicts_empty(struct conflicts *conflicts);

/* Uses that were lost because memory was short. */
uint64_t conflicts_lost(const struct conflicts *conflicts);
