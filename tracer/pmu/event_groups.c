/* Packing events into the fewest groups that the counters can count at the same time. */
#include "tracer/pmu/event_groups.h"

#include <string.h>

/* Sets of events are the bits of one word. */
typedef unsigned long long set_t;
_Static_assert(EVENT_GROUPS_MAX <= 64, "a set has 64 bits");

/* The search for the fewest groups ends after so many tries; 20 blocks need a few thousand. */
enum { MAX_TRIES = 200000 };

struct packing {
	const struct group_wish *wishes;
	size_t n;
	struct counter_limits limits;
	set_t everywhere;
	set_t blocks[EVENT_GROUPS_MAX]; /* what stays together, the largest first */
	size_t n_blocks;
	set_t groups[EVENT_GROUPS_MAX];
	size_t tries;
};

static set_t bit(size_t i)
{
	return 1ull << i;
}

/* General counters that the events of a set take together with those that are in every group: what
 * has no fixed one of its own. */
static unsigned general_needed(const struct packing *packing, set_t set)
{
	unsigned needed = 0, taken = 0;
	set |= packing->everywhere;
	for (size_t i = 0; i < packing->n; i++) {
		const struct group_wish *wish = &packing->wishes[i];
		unsigned own = wish->fixed >= 0 && wish->fixed < 32 ? 1u << wish->fixed : 0;
		if (!(set & bit(i)) || wish->software)
			continue;
		if (own & packing->limits.fixed & ~taken)
			taken |= own;
		else
			needed++;
	}
	return needed;
}

static bool fits(const struct packing *packing, set_t set)
{
	return general_needed(packing, set) <= packing->limits.general;
}

/* --- what stays together --- */

static void add_block(struct packing *packing, set_t block)
{
	packing->blocks[packing->n_blocks++] = block;
}

/* The events of the formula of event `first` that come after it, with it. */
static set_t formula_of(const struct packing *packing, size_t first)
{
	const unsigned formula = packing->wishes[first].formula;
	set_t set = bit(first);
	for (size_t i = first + 1; formula && i < packing->n; i++)
		if (packing->wishes[i].formula == formula)
			set |= bit(i);
	return set & ~packing->everywhere;
}

/* A formula as one block, or as several that each fill a group, and the rest.  False: one event
 * alone does not fit. */
static bool add_formula(struct packing *packing, set_t formula)
{
	set_t part = 0;
	for (size_t i = 0; i < packing->n; i++) {
		if (!(formula & bit(i)))
			continue;
		if (!fits(packing, bit(i)))
			return false;
		if (part && !fits(packing, part | bit(i))) {
			add_block(packing, part);
			part = 0;
		}
		part |= bit(i);
	}
	if (part)
		add_block(packing, part);
	return true;
}

static void sort_blocks(struct packing *packing)
{
	for (size_t i = 1; i < packing->n_blocks; i++)
		for (size_t k = i; k > 0 && general_needed(packing, packing->blocks[k]) >
						    general_needed(packing, packing->blocks[k - 1]);
		     k--) {
			set_t other = packing->blocks[k];
			packing->blocks[k] = packing->blocks[k - 1];
			packing->blocks[k - 1] = other;
		}
}

static bool make_blocks(struct packing *packing)
{
	set_t seen = packing->everywhere;
	if (!fits(packing, 0))
		return false;
	for (size_t i = 0; i < packing->n; i++) {
		if (seen & bit(i))
			continue;
		set_t formula = formula_of(packing, i);
		seen |= formula;
		if (!add_formula(packing, formula))
			return false;
	}
	sort_blocks(packing);
	return true;
}

/* --- into groups --- */

static size_t first_fit(struct packing *packing)
{
	size_t n = 0;
	for (size_t b = 0; b < packing->n_blocks; b++) {
		size_t g = 0;
		while (g < n && !fits(packing, packing->groups[g] | packing->blocks[b]))
			g++;
		if (g == n)
			packing->groups[n++] = 0;
		packing->groups[g] |= packing->blocks[b];
	}
	return n ? n : 1;
}

/* Whether the blocks from `b` on go into `n` groups, of which the first `used` are in use.  Groups
 * that are empty are all the same: only the first of them is tried. */
static bool pack(struct packing *packing, size_t b, size_t used, size_t n)
{
	if (b == packing->n_blocks)
		return true;
	for (size_t g = 0; g < n && g <= used; g++) {
		const set_t before = g < used ? packing->groups[g] : 0;
		if (packing->tries++ >= MAX_TRIES)
			return false;
		if (!fits(packing, before | packing->blocks[b]))
			continue;
		packing->groups[g] = before | packing->blocks[b];
		if (pack(packing, b + 1, g == used ? used + 1 : used, n))
			return true;
		packing->groups[g] = before;
	}
	return false;
}

/* Fewer than first-fit has, as few as there can be. */
static size_t fewest(struct packing *packing)
{
	set_t kept[EVENT_GROUPS_MAX];
	const size_t enough = first_fit(packing);
	memcpy(kept, packing->groups, sizeof(kept));
	for (size_t n = 1; n < enough && packing->tries < MAX_TRIES; n++) {
		memset(packing->groups, 0, sizeof(packing->groups));
		if (pack(packing, 0, 0, n))
			return n;
	}
	memcpy(packing->groups, kept, sizeof(kept));
	return enough;
}

bool event_groups_make(const struct group_wish *wishes, size_t n,
		       const struct counter_limits *limits, struct event_groups *groups)
{
	struct packing packing = {.wishes = wishes, .n = n, .limits = *limits};
	if (n == 0 || n > EVENT_GROUPS_MAX)
		return false;
	for (size_t i = 0; i < n; i++)
		packing.everywhere |= wishes[i].everywhere ? bit(i) : 0;
	if (!make_blocks(&packing))
		return false;
	struct event_groups made = {.n = fewest(&packing)};
	for (size_t g = 0; g < made.n; g++)
		for (size_t i = 0; i < n; i++)
			if (packing.groups[g] & bit(i))
				made.group_of[i] = (unsigned)g;
	*groups = made;
	return true;
}
