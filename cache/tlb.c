/* Lists of pages in the order of their use, with an index by page. */
#include "cache/tlb.h"

#include <stdbool.h>
#include <stdlib.h>

#define NONE UINT32_MAX

/* A page that is kept; both lists are of places. */
struct entry {
	uint64_t page;
	uint32_t newer, older; /* by use; the newest and the oldest one are joined */
	uint32_t next;         /* with the same hash, or NONE */
};

struct level {
	struct entry *entries;
	uint32_t *first;         /* by hash; NONE: none */
	uint32_t n, most, shift; /* shift: 64 less the bits of a hash */
	uint32_t newest;
};

struct tlb {
	struct level near, far;
	uint64_t last; /* page, where there is one */
	bool any;
};

static bool level_init(struct level *level, uint32_t most)
{
	uint32_t bits = 1;
	while (bits < 31 && 1u << bits < most)
		bits++;
	*level = (struct level){.most = most, .shift = 64 - bits, .newest = NONE};
	level->entries = malloc((size_t)most * sizeof(*level->entries));
	level->first = malloc(sizeof(*level->first) << bits);
	for (size_t i = 0; level->first && i < (size_t)1 << bits; i++)
		level->first[i] = NONE;
	return level->entries && level->first;
}

static uint32_t *first_of(const struct level *level, uint64_t page)
{
	return &level->first[page * UINT64_C(0x9e3779b97f4a7c15) >> level->shift];
}

static void take_out_of_hash(struct level *level, uint32_t at)
{
	uint32_t *link = first_of(level, level->entries[at].page);
	while (*link != at)
		link = &level->entries[*link].next;
	*link = level->entries[at].next;
}

/* Joins an entry that is in no list, as the newest one. */
static void make_newest(struct level *level, uint32_t at)
{
	struct entry *entry = &level->entries[at];
	if (level->newest == NONE) {
		entry->newer = entry->older = at;
	} else {
		struct entry *newest = &level->entries[level->newest];
		const uint32_t oldest = newest->newer;
		entry->older = level->newest;
		entry->newer = oldest;
		level->entries[oldest].older = at;
		newest->newer = at;
	}
	level->newest = at;
}

static void renew(struct level *level, uint32_t at)
{
	const struct entry *entry = &level->entries[at];
	if (level->newest == at)
		return;
	level->entries[entry->newer].older = entry->older;
	level->entries[entry->older].newer = entry->newer;
	make_newest(level, at);
}

/* A page that the level does not have takes the place of the oldest one. */
static void bring_in(struct level *level, uint64_t page)
{
	uint32_t at = level->n;
	if (level->n < level->most) {
		level->n++;
		level->entries[at].page = page;
		make_newest(level, at);
	} else {
		at = level->entries[level->newest].newer;
		take_out_of_hash(level, at);
		level->entries[at].page = page;
		level->newest = at; /* the ring is turned by one */
	}
	uint32_t *first = first_of(level, page);
	level->entries[at].next = *first;
	*first = at;
}

/* Whether the level had the page; it has it now, as the newest one. */
static bool use(struct level *level, uint64_t page)
{
	uint32_t at = *first_of(level, page);
	while (at != NONE && level->entries[at].page != page)
		at = level->entries[at].next;
	if (at == NONE)
		bring_in(level, page);
	else
		renew(level, at);
	return at != NONE;
}

struct tlb *tlb_create(uint32_t near, uint32_t far)
{
	struct tlb *tlb = calloc(1, sizeof(*tlb));
	if (!tlb)
		return NULL;
	if (level_init(&tlb->near, near) && level_init(&tlb->far, far))
		return tlb;
	tlb_destroy(tlb);
	return NULL;
}

void tlb_destroy(struct tlb *tlb)
{
	if (!tlb)
		return;
	free(tlb->near.entries);
	free(tlb->near.first);
	free(tlb->far.entries);
	free(tlb->far.first);
	free(tlb);
}

enum tlb_found tlb_access(struct tlb *tlb, uint64_t page)
{
	if (tlb->any && tlb->last == page) /* it is the newest one already */
		return TLB_NEAR;
	tlb->any = true;
	tlb->last = page;
	if (use(&tlb->near, page))
		return TLB_NEAR;
	return use(&tlb->far, page) ? TLB_FAR : TLB_WALK;
}
