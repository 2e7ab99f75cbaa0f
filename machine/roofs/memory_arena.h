/* The memory that bandwidth is measured in: huge pages where the kernel gives them, first touched
 * by the thread that uses them, or bound to a NUMA node. */
#pragma once

#include "base/error.h"
#include "machine/roofs/team.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ARENA_HUGE_PAGE ((size_t)2 << 20)

/* Memory of one thread. */
struct arena {
	char *base;   /* multiple of ARENA_HUGE_PAGE */
	size_t bytes; /* that have been touched */
	char *mapping;
	size_t mapped;
};

#define ARENA_ANY_NODE (-1)

/* Maps at least `bytes` for an empty arena; on the NUMA node with the operating system's number
 * `node`, or ARENA_ANY_NODE: where it is touched first.  RF_EACCESS: a limit on memory;
 * RF_EUNAVAILABLE: the node is refused. */
struct rf_error *arena_map(struct arena *arena, size_t bytes, int node);
void arena_unmap(struct arena *arena);

/* Each thread of the team fills its arena with ones (double), until all is filled or `limit_ns`
 * have passed. */
void arenas_touch(struct team *team, struct arena *arenas, uint64_t limit_ns);
