/* Which accesses behind a gap, of which nothing was seen, meet caches that are not known.
 *
 * When accesses are simulated again, the caches hold what was in them before the gap.  What an
 * access to a line finds is known if the line was touched since the gap, or if so many other lines
 * of its class were that they fill the cache; else it is not.  And a class is *settled* when hardly
 * any accesses are of that kind: from then on it behaves as without a gap.
 *
 * Two borders are told apart: that behind the private caches, and that of memory. */
#pragma once

#include "cache/geometry.h"

#include <stdbool.h>
#include <stdint.h>

enum { GAP_PRIVATE, GAP_LAST, N_GAP_BORDERS };

struct first_touches;

/* Of these classes; there has been no gap yet.  NULL when memory is short. */
struct first_touches *first_touches_create(const struct geometry *geometry, uint64_t classes);
void first_touches_destroy(struct first_touches *touches);

/* A gap has ended. */
void first_touches_begin(struct first_touches *touches);

/* What is known of an access that has missed the first level. */
struct touch {
	bool unknown[N_GAP_BORDERS]; /* whether it crosses that border, too */
	bool settled[N_GAP_BORDERS]; /* its class is */
};
struct touch first_touches_note(struct first_touches *touches, uint64_t line);
