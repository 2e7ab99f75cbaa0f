/* What a program would move in the caches of another machine: the accesses of this run, in a
 * hierarchy of that machine's lines and ways of writing, counted in bytes.
 *
 * All accesses must be told, of all lines: what this machine's caches make superfluous (the gate's
 * windows, samples of classes) is made for lines of CACHE_LINE, and would change what a longer line
 * or an L1 that writes through moves. */
#pragma once

#include "cache/hierarchy.h"

#define OTHER_EVENTS (TRAFFIC_MEM_LEFT + 1)

/* Of one account, bytes: a line that crosses a border counts as all of its bytes; `through`: those
 * of stores that L1 has passed on to L2. */
struct other_bytes {
	uint64_t events[OTHER_EVENTS]; /* as enum traffic */
	uint64_t through;
};

struct other_caches;

/* NULL when memory is short. */
struct other_caches *other_caches_create(const struct geometry *geometry);
void other_caches_destroy(struct other_caches *caches);

/* One access of a core to n bytes from an address on, in an address space (below 4096), on account
 * of `who`.  What goes by lines of this machine (CACHE_FLUSH, CACHE_CLEAN, CACHE_LINE_ZERO) does to
 * all bytes of such a line there what it does here. */
void other_caches_access(struct other_caches *caches, unsigned core, unsigned space,
			 uint64_t address, unsigned n, enum cache_access kind, uint32_t who);

/* Empties all of them: what is changed counts as left there, and nothing is written for anybody. */
void other_caches_empty(struct other_caches *caches);
/* The same.  The accesses that follow move lines, and nothing of that is counted. */
void other_caches_look_ahead(struct other_caches *caches);
/* Accesses count again: the caches keep what they have, and nothing of it is changed. */
void other_caches_look_back(struct other_caches *caches);

/* The end: what is changed and still in a cache counts as left there. */
void other_caches_finish(struct other_caches *caches);

/* Bytes of an account; all 0 for one that moved nothing. */
struct other_bytes other_caches_bytes(const struct other_caches *caches, uint32_t who);
/* Accounts have numbers below this. */
uint32_t other_caches_accounts(const struct other_caches *caches);
/* Accesses that were not simulated, or not counted, since memory was short. */
uint64_t other_caches_lost(const struct other_caches *caches);
