/* Stands in front of the hierarchy: keeps repeated accesses to a core's latest lines back, and
 * tells them together. */
#include "tracer/traffic/access_filter.h"

#include <string.h>

bool access_filter_suits(const struct geometry *geometry)
{
	const struct cache_level *first = &geometry->levels[0];
	/* tree-PLRU spares a line for as many misses as its tree is deep */
	const unsigned ways =
		first->replacement == CACHE_LRU ? FILTER_LINES : 1u << (FILTER_LINES - 1);
	if (geometry_class_groups(geometry) != CACHE_CLASSES || first->ways < ways || first->shared)
		return false;
	for (int i = 1; i < geometry->n_levels; i++)
		if (geometry->levels[i].inclusion == CACHE_INCLUSIVE)
			return false;
	return true;
}

unsigned access_filter_lines(const struct geometry *geometry)
{
	if (access_filter_suits(geometry))
		return FILTER_LINES;
	return geometry_class_groups(geometry) == CACHE_CLASSES && !geometry->levels[0].shared;
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
	tell_all(filter, class);
	hierarchy_access(filter->hierarchy, filter->core, line, kind, first, n, who);
	if (kind != CACHE_LOAD && kind != CACHE_STORE) {
		/* The line is not the most recently used one now. */
		memset(class, 0, sizeof(*class));
		return;
	}
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
