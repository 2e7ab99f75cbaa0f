/* A data TLB of two levels, of one core and one page size.
 *
 * Each level keeps the pages that were used last (LRU), wherever they lie: real ones have sets,
 * whose places are hashed in ways that makers do not tell.  The farther level is asked for what the
 * nearer one does not have, and keeps it as well. */
#pragma once

#include <stdint.h>

enum tlb_found {
	TLB_NEAR, /* in the nearest level */
	TLB_FAR,  /* in the farther one alone */
	TLB_WALK  /* in none: the page tables are walked */
};

/* What accesses of somebody found. */
struct tlb_counts {
	uint64_t accesses, near_misses, walks; /* near_misses: with the walks */
};

struct tlb;
/* Of so many pages in each level, at least one.  NULL when memory is short. */
struct tlb *tlb_create(uint32_t near, uint32_t far);
void tlb_destroy(struct tlb *tlb);

/* An access to the page of that number. */
enum tlb_found tlb_access(struct tlb *tlb, uint64_t page);
