/* Feeds a hierarchy of another machine, and sums up what crosses its borders. */
#include "cache/other_caches.h"

#include "base/array.h"

#include <stdlib.h>

/* Of a line's number the bits from this one on tell the address space: lines of 32 bytes in a user
 * address space of 56 bits. */
#define OTHER_SPACE_SHIFT 52

struct other_caches {
	struct hierarchy *hierarchy;
	unsigned line, line_bits;
	struct other_bytes *accounts;
	size_t n_accounts;
	uint64_t n_lost;  /* not counted */
	bool looks_ahead; /* nothing counts */
};

static struct other_bytes *account_of(struct other_caches *caches, uint32_t who)
{
	if (who < caches->n_accounts ||
	    rf_array_reach((void **)&caches->accounts, &caches->n_accounts, who,
			   sizeof(*caches->accounts)))
		return &caches->accounts[who];
	caches->n_lost++;
	return NULL;
}

static void note(void *context, enum traffic event, uint32_t who, uint64_t line)
{
	struct other_caches *caches = context;
	const bool counts = event < OTHER_EVENTS && !caches->looks_ahead;
	struct other_bytes *account = counts ? account_of(caches, who) : NULL;
	(void)line;
	if (account)
		account->events[event] += caches->line;
}

static void note_through(void *context, uint32_t who, uint64_t line, unsigned n)
{
	struct other_caches *caches = context;
	struct other_bytes *account = caches->looks_ahead ? NULL : account_of(caches, who);
	(void)line;
	if (account)
		account->through += n;
}

struct other_caches *other_caches_create(const struct geometry *geometry)
{
	struct other_caches *caches = calloc(1, sizeof(*caches));
	if (!caches)
		return NULL;
	caches->line = geometry->line;
	caches->line_bits = (unsigned)__builtin_ctz(geometry->line);
	caches->hierarchy = hierarchy_create(geometry, 1, UINT64_MAX, false, note, caches);
	if (!caches->hierarchy) {
		free(caches);
		return NULL;
	}
	hierarchy_tell_through(caches->hierarchy, note_through);
	return caches;
}

void other_caches_destroy(struct other_caches *caches)
{
	if (!caches)
		return;
	hierarchy_destroy(caches->hierarchy);
	free(caches->accounts);
	free(caches);
}

void other_caches_access(struct other_caches *caches, unsigned core, unsigned space,
			 uint64_t address, unsigned n, enum cache_access kind, uint32_t who)
{
	if (kind == CACHE_FLUSH || kind == CACHE_CLEAN || kind == CACHE_LINE_ZERO) {
		address -= address % CACHE_LINE;
		n = CACHE_LINE;
	}
	if (kind == CACHE_LINE_ZERO) /* of this machine's line, which may be a part of that one's */
		kind = CACHE_NON_TEMPORAL;
	while (n) {
		const unsigned first = (unsigned)(address % caches->line);
		const unsigned here = n < caches->line - first ? n : caches->line - first;
		const uint64_t line =
			(uint64_t)space << OTHER_SPACE_SHIFT | address >> caches->line_bits;
		hierarchy_access(caches->hierarchy, core, line, kind, first, here, who);
		address += here;
		n -= here;
	}
}

void other_caches_empty(struct other_caches *caches)
{
	hierarchy_empty(caches->hierarchy);
}

void other_caches_look_ahead(struct other_caches *caches)
{
	other_caches_empty(caches);
	caches->looks_ahead = true;
}

void other_caches_look_back(struct other_caches *caches)
{
	hierarchy_finish(caches->hierarchy);
	caches->looks_ahead = false;
}

void other_caches_finish(struct other_caches *caches)
{
	hierarchy_finish(caches->hierarchy);
}

struct other_bytes other_caches_bytes(const struct other_caches *caches, uint32_t who)
{
	return who < caches->n_accounts ? caches->accounts[who] : (struct other_bytes){0};
}

uint32_t other_caches_accounts(const struct other_caches *caches)
{
	return (uint32_t)caches->n_accounts;
}

uint64_t other_caches_lost(const struct other_caches *caches)
{
	return caches->n_lost + hierarchy_lost(caches->hierarchy);
}
