/* Puts accesses off that cannot miss, and does them later, all to one line at once.
 *
 * The last few lines of a class that a core has accessed are in its L1, where they are the most
 * recently used ones of their set.  Accesses to them change nothing but their order, that they are
 * changed, and which of their bytes were read and written.  So these are kept here, and told to the
 * hierarchy before it next hears of another line of the class: each line once, in the order of
 * their last accesses.  What it counts is the same, access by access
 * (tests/unit/tracer/traffic/test_access_filter.c).
 *
 * That is so where L1 has at least as many ways as lines are kept here, and whole sets of each
 * class: access_filter_suits.  When a line comes in, an inclusive level may take another one out of
 * L1, of the same class; then no line is kept any more but the one that came. */
#pragma once

#include "cache/hierarchy.h"

#define FILTER_LINES 4

struct filter_class {
	uint64_t lines[FILTER_LINES]; /* plus 1; 0: none */
	uint64_t times[FILTER_LINES]; /* of their last accesses */
	/* Bytes whose accesses are put off; loaded: before they were stored. */
	uint64_t loaded[FILTER_LINES], stored[FILTER_LINES];
	uint32_t load_who[FILTER_LINES], store_who[FILTER_LINES];
};

/* Of one core. */
struct access_filter {
	struct hierarchy *hierarchy;
	unsigned core;
	bool on;
	uint64_t time;
	struct filter_class classes[CACHE_CLASSES];
};

/* `prefetch`: a miss fetches a line of another class, too (hierarchy_create). */
bool access_filter_suits(const struct geometry *geometry, bool prefetch);
/* Of how many lines of a class, those that a core accessed last, repeated accesses change nothing
 * but their order, unless another line has come that shares a set with them
 * (access_filter_set_bits): FILTER_LINES, 1, or 0 where lines of several classes share a set. */
unsigned access_filter_lines(const struct geometry *geometry, bool prefetch);
/* Lines whose numbers differ in these bits share no set of an inclusive level: none of them takes
 * the other out of L1. */
uint32_t access_filter_set_bits(const struct geometry *geometry);
void access_filter_init(struct access_filter *filter, struct hierarchy *hierarchy, unsigned core,
			bool on);

/* Takes the place of hierarchy_access. */
void access_filter_access(struct access_filter *filter, uint64_t line, enum cache_access kind,
			  unsigned first, unsigned n, uint32_t who);

/* More accesses to the line of the access before: bytes, and the last who, of loads and of stores,
 * where there are any. `loaded`: before they were stored.  Only where the filter is on. */
struct filter_rest {
	uint64_t loaded, stored;
	uint32_t load_who, store_who;
	bool loads, stores;
};
void access_filter_rest(struct access_filter *filter, uint64_t line,
			const struct filter_rest *rest);

/* Does what was put off, and keeps nothing: before another core accesses anything, and at the end.
 */
void access_filter_end(struct access_filter *filter);
