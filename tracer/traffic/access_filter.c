/* Stands in front of the hierarchy: keeps repeated accesses to a core's latest lines back, and
 * tells them together. */
#include "tracer/traffic/access_filter.h"

#include <string.h>

static bool is_inclusive(const struct geometry *geometry, int at)
{
	return at > 0 && geometry->levels[at].inclusion == CACHE_INCLUSIVE;
}

static bool has_inclusive(const struct geometry *geometry)
{
	for (int i = 1; i < geometry->n_levels; i++)
		if (is_inclusive(geometry, i))
			return true;
	return false;
}

bool access_filter_suits(const struct geometry *geometry, bool prefetch)
{
	const struct cache_level *first = &geometry->levels[0];
	/* tree-PLRU spares a line for as many misses as its tree is deep */
	const unsigned ways =
		first->replacement == CACHE_LRU ? FILTER_LINES : 1u << (FILTER_LINES - 1);
	return geometry_class_groups(geometry) == CACHE_CLASSES && first->ways >= ways &&
	       !first->shared && !(prefetch && has_inclusive(geometry));
}

/* Whether an inclusive level keeps a line that it has just taken in, or renewed, while the other
 * lines of a window come back that it took out of L1: three lines.  Each comes in, and may push
 * changed lines out of the levels above, which renew others: one for each level.  The line itself
 * had done the latter, too.  Only the last one's coming in counts, not what it pushes. */
static bool keeps_renewed(const struct cache_level *level, int at)
{
	const unsigned pushed = (unsigned)at, others = FILTER_LINES - 2;
	return level->replacement == CACHE_LRU && level->ways >= 2 + pushed + others * (1 + pushed);
}

unsigned access_filter_lines(const struct geometry *geometry, bool prefetch)
{
	unsigned lines =
		geometry_class_groups(geometry) == CACHE_CLASSES && !geometry->levels[0].shared;
	if (access_filter_suits(geometry, prefetch))
		lines = FILTER_LINES;
	for (int i = 1; i < geometry->n_levels; i++)
		if (is_inclusive(geometry, i) && !keeps_renewed(&geometry->levels[i], i) && lines)
			lines = 1;
	return lines;
}

uint32_t access_filter_set_bits(const struct geometry *geometry)
{
	uint32_t bits = UINT32_MAX;
	for (int i = 1; i < geometry->n_levels; i++)
		if (is_inclusive(geometry, i))
			bits &= (geometry->levels[i].sets & -geometry->levels[i].sets) - 1;
	return bits;
}

void access_filter_init(struct access_filter *filter, struct hierarchy *hierarchy, unsigned core,
			bool on)
{
	*filter = (struct access_filter){.hierarchy = hierarchy, .core = core, .on = on};
}

/* One access for each run of bytes. */
static void tell(struct access_filter *filter, uint64_t line, enum cache_access kind,
		 uint64_t bytes, uint32_t who)
{
	while (bytes) {
		const unsigned first = (unsigned)__builtin_ctzll(bytes);
		const uint64_t from_first = bytes >> first;
		const unsigned n =
			from_first == ~0ull ? CACHE_LINE : (unsigned)__builtin_ctzll(~from_first);
		hierarchy_access(filter->hierarchy, filter->core, line, kind, first, n, who);
		bytes &= ~line_bytes(first, n);
	}
}

static void tell_line(struct access_filter *filter, struct filter_class *class, int i)
{
	tell(filter, class->lines[i] - 1, CACHE_LOAD, class->loaded[i], class->load_who[i]);
	tell(filter, class->lines[i] - 1, CACHE_STORE, class->stored[i], class->store_who[i]);
	class->loaded[i] = class->stored[i] = 0;
}

/* The line whose last access was the earliest, if `waiting` only of those with
 * something put off; or -1. */
static inline int earliest(const struct filter_class *class, bool waiting)
{
	int found = -1;
	for (int i = 0; i < FILTER_LINES; i++)
		if ((!waiting || class->loaded[i] | class->stored[i]) &&
		    (found < 0 || class->times[i] < class->times[found]))
			found = i;
	return found;
}

static void tell_all(struct access_filter *filter, struct filter_class *class)
{
	for (int i; (i = earliest(class, true)) >= 0;)
		tell_line(filter, class, i);
}

static void access_other(struct access_filter *filter, struct filter_class *class, uint64_t line,
			 enum cache_access kind, unsigned first, unsigned n, uint32_t who)
{
	const uint64_t taken = hierarchy_taken(filter->hierarchy);
	tell_all(filter, class);
	hierarchy_access(filter->hierarchy, filter->core, line, kind, first, n, who);
	const bool is_latest = kind == CACHE_LOAD || kind == CACHE_STORE;
	if (!is_latest || hierarchy_taken(filter->hierarchy) != taken)
		memset(class, 0, sizeof(*class)); /* one of its lines may be in L1 no more */
	if (!is_latest)
		return;
	const int i = earliest(class, false);
	class->lines[i] = line + 1;
	class->times[i] = ++filter->time;
}

void access_filter_access(struct access_filter *filter, uint64_t line, enum cache_access kind,
			  unsigned first, unsigned n, uint32_t who)
{
	if (!filter->on) {
		hierarchy_access(filter->hierarchy, filter->core, line, kind, first, n, who);
		return;
	}
	struct filter_class *class = &filter->classes[line % CACHE_CLASSES];
	int i = 0;
	while (i < FILTER_LINES && class->lines[i] != line + 1)
		i++;
	if (i == FILTER_LINES || (kind != CACHE_LOAD && kind != CACHE_STORE)) {
		access_other(filter, class, line, kind, first, n, who);
		return;
	}
	const uint64_t bytes = line_bytes(first, n);
	if (kind == CACHE_LOAD) {
		class->load_who[i] = who;
		class->loaded[i] |= bytes & ~class->stored[i];
	} else {
		class->store_who[i] = who;
		class->stored[i] |= bytes;
	}
	class->times[i] = ++filter->time;
}

void access_filter_rest(struct access_filter *filter, uint64_t line, const struct filter_rest *rest)
{
	struct filter_class *class = &filter->classes[line % CACHE_CLASSES];
	int i = 0;
	while (i < FILTER_LINES - 1 && class->lines[i] != line + 1)
		i++;
	if (rest->loads) {
		class->load_who[i] = rest->load_who;
		class->loaded[i] |= rest->loaded & ~class->stored[i];
	}
	if (rest->stores) {
		class->store_who[i] = rest->store_who;
		class->stored[i] |= rest->stored;
	}
	class->times[i] = ++filter->time;
}

void access_filter_end(struct access_filter *filter)
{
	for (unsigned k = 0; k < CACHE_CLASSES; k++)
		tell_all(filter, &filter->classes[k]);
	memset(filter->classes, 0, sizeof(filter->classes));
}
