/* What a load or a store does: finds the line, brings it up through the levels, prefetches its
 * neighbour, and watches whether lines that came for a store are written whole. */
#include "cache/load_store.h"
#include "cache/lines.h"

/* Where a line comes from, and the sets in which it may be. */
struct supply {
	int level; /* n_levels: memory, or another core */
	int way;
	bool kept; /* other cores have it, too */
	void *sets[CACHE_LEVELS];
};

/* Searches the levels from `from` to `to` − 1; ->level is `to` when it is in none. */
static ALWAYS_INLINE void find_supply(struct hierarchy *h, struct build b, struct supply *supply,
				      int from, int to, uint32_t line)
{
	supply->level = to;
#pragma GCC unroll 3
	for (int at = from; at < to; at++) {
		supply->way = find_in(h, b, at, supply->sets[at], line);
		if (supply->way >= 0) {
			supply->level = at;
			return;
		}
	}
}

/* Before a line is used that a level has: whether with one more line in its set it would have
 * crossed the next border. */
static NEVER_INLINE void note_open(struct hierarchy *h, struct build b, int at, void *set,
				   unsigned way)
{
	const struct set_shape *shape = &h->levels[at].shape;
	if (!set_is_last(shape, set, way))
		return;
	const enum traffic read = at + 1 == b.n_levels ? TRAFFIC_MEM_READ_OPEN
				  : at                 ? TRAFFIC_L3_READ_OPEN
						       : TRAFFIC_L2_READ_OPEN;
	lines_note_here(h, read);
	if (set_changed(set, way))
		h->note(h->context, read + 1, set_who(shape, set)[way], h->line);
}

_Static_assert(TRAFFIC_L2_WRITE_OPEN == TRAFFIC_L2_READ_OPEN + 1 &&
		       TRAFFIC_L3_WRITE_OPEN == TRAFFIC_L3_READ_OPEN + 1 &&
		       TRAFFIC_MEM_WRITE_OPEN == TRAFFIC_MEM_READ_OPEN + 1,
	       "note_open goes from the one to the other");

/* Takes a line from a level that has it, for the access at hand: a victim cache gives it away, with
 * what it owes, unless other cores have it, too. */
static ALWAYS_INLINE struct moving take(struct hierarchy *h, struct build b, int at, void *set,
					unsigned way, bool kept, uint32_t line)
{
	struct moving taken = {.line = line, .who = h->who};
	if (h->tell_open)
		note_open(h, b, at, set, way);
	if (h->levels[at].inclusion != CACHE_VICTIM || kept) {
		touch_in(h, b, at, set, way);
		return taken;
	}
	if (set_changed(set, way))
		taken.debt = (struct debt){who_in(h, b, at, set)[way], at};
	else if (has_debts(h, b, at))
		taken.debt = debts_in(h, b, at, set)[way];
	lines_remove(h, at, set, way);
	return taken;
}

/* Brings a line into the levels above its supply down to level `to`.  Returns the way in `to`. */
static ALWAYS_INLINE unsigned fill(struct hierarchy *h, struct build b, struct core *core,
				   const struct supply *supply, int to, uint32_t line)
{
	struct moving in = {.line = line, .who = h->who};
	unsigned way = 0;
#pragma GCC unroll 3
	for (int at = b.n_levels - 1; at >= to; at--) {
		if (at == supply->level)
			in = take(h, b, at, supply->sets[at], supply->way, supply->kept, line);
		if (at >= supply->level || (at > to && h->levels[at].inclusion == CACHE_VICTIM))
			continue;
		way = insert(h, b, core, at, supply->sets[at], in);
		in.debt.level = 0;
	}
	return way;
}

static ALWAYS_INLINE void note_supply(struct hierarchy *h, struct build b, int from,
				      const struct supply *supply, bool from_memory,
				      enum direction direction)
{
#pragma GCC unroll 3
	for (int border = from; border < b.n_levels; border++)
		if (border <= supply->level)
			lines_note_here(h, event_of(b.n_levels, border, direction));
	if (from_memory)
		lines_note_here(h, event_of(b.n_levels, b.n_levels, direction));
}

/* Fetches the other line of the pair that the line at hand belongs to, if no core has it. */
static NEVER_INLINE void prefetch(struct hierarchy *h, struct core *core, enum direction direction)
{
	int to = h->prefetch_into;
	struct build b = build_of(h);
	struct supply supply = {0};
	h->line ^= 1;
	h->slot = h->slots[h->line % CACHE_CLASSES];
	h->group = h->line & (h->groups - 1);
	uint32_t compact = regions_compact(&h->regions, h->line);
	if (!compact || lines_any_has(h, compact))
		return;
	for (int at = 0; at < h->n_levels; at++)
		supply.sets[at] = set_at(h, core, at, compact);
	find_supply(h, b, &supply, 0, h->n_levels, compact);
	if (supply.level <= to)
		return;
	note_supply(h, b, to + 1, &supply, supply.level == h->n_levels, direction);
	unsigned way = fill(h, b, core, &supply, to, compact);
	if (to == 0)
		fresh_end(h, core, compact, way);
}

/* A line came from memory for a store: begins to watch whether it is written whole. */
static void fresh_begin(struct hierarchy *h, const struct core *core, struct fresh *fresh,
			unsigned way, uint64_t bytes)
{
	if (core->written ? h->n == h->line_bytes : bytes == ALL_BYTES) {
		lines_note_here(h, TRAFFIC_MEM_EVADABLE);
		return;
	}
	fresh->pending |= UINT64_C(1) << way;
	fresh->ways[way].written = bytes;
	fresh->ways[way].who = h->who;
	if (!core->written)
		return;
	struct written *written = written_at(h, core, fresh, way);
	*written = (struct written){0};
	written_add(written, h->first, h->n);
}

/* The same as fresh_access, of lines that are not CACHE_LINE. */
static NEVER_INLINE void fresh_access_any(struct hierarchy *h, const struct core *core,
					  struct fresh *fresh, unsigned way, bool store)
{
	struct written *written = written_at(h, core, fresh, way);
	if (!store && written_has(written, h->first, h->n))
		return;
	if (store)
		written_add(written, h->first, h->n);
	if (store && !written_has(written, 0, h->line_bytes))
		return;
	fresh->pending &= ~(UINT64_C(1) << way);
	if (store)
		h->note(h->context, TRAFFIC_MEM_EVADABLE, fresh->ways[way].who, h->line);
}

/* A line that came for a store is loaded or stored to: is it written whole, or read before it is?
 */
static void fresh_access(struct hierarchy *h, const struct core *core, struct fresh *fresh,
			 unsigned way, bool store, uint64_t bytes)
{
	if (core->written) {
		fresh_access_any(h, core, fresh, way, store);
		return;
	}
	uint64_t written = fresh->ways[way].written;
	if (!store && !(bytes & ~written))
		return;
	if (store)
		fresh->ways[way].written = written |= bytes;
	if (store && written != ALL_BYTES)
		return;
	fresh->pending &= ~(UINT64_C(1) << way);
	if (store)
		h->note(h->context, TRAFFIC_MEM_EVADABLE, fresh->ways[way].who, h->line);
}

/* Copies that a core has of a line that is in its L1. */
static unsigned own_copies(struct hierarchy *h, struct core *core, uint32_t line)
{
	unsigned n = 1;
	for (int at = 1; at < h->n_private; at++)
		n += set_find(&h->levels[at].shape, set_at(h, core, at, line), line) >= 0;
	return n;
}

/* A store to a line that is in L1 and not changed there: other cores lose it. */
static NEVER_INLINE void claim(struct hierarchy *h, struct core *core, uint32_t line)
{
	if (!h->presence.counts ||
	    presence_maybe(&h->presence, h->slot, line, own_copies(h, core, line)))
		lines_snoop(h, core, line, true);
}

/* Finds a line behind L1, and deals with other cores' copies.  Returns whether it comes from
 * memory. */
static ALWAYS_INLINE bool search(struct hierarchy *h, struct build b, struct core *core,
				 uint32_t line, bool store, struct supply *supply)
{
	bool elsewhere = false;
	find_supply(h, b, supply, 1, b.n_private, line);
	if (supply->level == b.n_private) {
		if (h->n_cores > 1 && presence_maybe(&h->presence, h->slot, line, 0))
			elsewhere = lines_snoop(h, core, line, store);
		find_supply(h, b, supply, b.n_private, b.n_levels, line);
	} else if (store && h->n_cores > 1 &&
		   !set_changed(supply->sets[supply->level], supply->way)) {
		lines_snoop(h, core, line, true);
	}
	supply->kept = elsewhere && !store;
	return supply->level == b.n_levels && !(elsewhere && b.n_private < b.n_levels);
}

static ALWAYS_INLINE void miss(struct hierarchy *h, struct build b, struct core *core,
			       uint32_t line, void *set, struct fresh *fresh, bool store,
			       uint64_t bytes)
{
	enum direction direction = store ? WRITE_ALLOCATE : READ;
	struct supply supply = {.sets[0] = set};
#pragma GCC unroll 3
	for (int at = b.n_levels - 1; at > 0; at--) {
		supply.sets[at] = set_at_with(h, b, core, at, line);
		prefetch_set(supply.sets[at]);
	}
	/* A stream comes to the next set of its class when it has passed the other classes. */
	if (b.n_levels > 1)
		prefetch_set((char *)supply.sets[b.n_levels - 1] +
			     h->levels[b.n_levels - 1].shape.bytes);
	bool from_memory = search(h, b, core, line, store, &supply);
	note_supply(h, b, 1, &supply, from_memory, direction);
	unsigned way = fill(h, b, core, &supply, 0, line);
	if (fresh->pending)
		fresh->pending &= ~(UINT64_C(1) << way);
	if (store) {
		change_in(h, b, 0, set, way, h->who);
		if (from_memory)
			fresh_begin(h, core, fresh, way, bytes);
	}
	if (h->prefetch_into >= 0 && supply.level > h->prefetch_into)
		prefetch(h, core, direction);
}

/* ---- an L1 that writes through ---- */

/* Brings the line of a store into L1 too, or only into L2 (`to`), unless it is there. */
static void bring_for_store(struct hierarchy *h, struct core *core, uint32_t line, int to,
			    struct supply *supply, bool elsewhere)
{
	const struct build b = build_of(h);
	const bool from_memory =
		supply->level == b.n_levels && !(elsewhere && b.n_private < b.n_levels);
	if (supply->level <= to) {
		(void)take(h, b, supply->level, supply->sets[supply->level], (unsigned)supply->way,
			   false, line);
		return;
	}
	note_supply(h, b, to + 1, supply, from_memory, WRITE_ALLOCATE);
	(void)fill(h, b, core, supply, to, line);
}

/* The bytes of a store go to L2, which includes L1: the line is changed there, and there alone. */
static NEVER_INLINE void store_through(struct hierarchy *h, struct core *core, uint32_t line,
				       void *set, int way)
{
	const struct build b = build_of(h);
	const bool elsewhere = h->n_cores > 1 && lines_snoop(h, core, line, true);
	struct supply supply = {.sets[0] = set};
	if (h->through)
		h->through(h->context, h->who, h->line, h->n);
	if (way >= 0) {
		if (h->tell_open)
			note_open(h, b, 0, set, (unsigned)way);
		touch_in(h, b, 0, set, (unsigned)way);
	}
	for (int at = 1; at < b.n_levels; at++)
		supply.sets[at] = set_at(h, core, at, line);
	find_supply(h, b, &supply, 1, b.n_levels, line);
	const int to = way >= 0 || h->no_write_allocate ? 1 : 0;
	bring_for_store(h, core, line, to, &supply, elsewhere);
	change_in(h, b, 1, supply.sets[1], (unsigned)find_in(h, b, 1, supply.sets[1], line),
		  h->who);
	if (h->prefetch_into >= 0 && supply.level > h->prefetch_into)
		prefetch(h, core, WRITE_ALLOCATE);
}

/* ---- a load or a store ---- */

typedef void miss_function(struct hierarchy *h, struct core *core, uint32_t line, void *set,
			   struct fresh *fresh, bool store, uint64_t bytes);

static ALWAYS_INLINE void load_or_store(struct hierarchy *h, struct build b, miss_function *on_miss,
					struct core *core, uint32_t line, bool store,
					uint64_t bytes)
{
	size_t number = set_number(h, 0, line);
	void *set = core->sets[0] +
		    number * (b.small ? sizeof(struct small_set) : h->levels[0].shape.bytes);
	struct fresh *fresh = (struct fresh *)(core->fresh + number * h->fresh_bytes);
	int way = find_in(h, b, 0, set, line);
	if (!b.small && store && h->write_through) {
		store_through(h, core, line, set, way);
		return;
	}
	if (way < 0) {
		on_miss(h, core, line, set, fresh, store, bytes);
		return;
	}
	if (h->tell_open)
		note_open(h, b, 0, set, way);
	touch_in(h, b, 0, set, way);
	if (store) {
		if (h->n_cores > 1 && !set_changed(set, way))
			claim(h, core, line);
		change_in(h, b, 0, set, way, h->who);
	}
	if (fresh->pending >> way & 1)
		fresh_access(h, core, fresh, (unsigned)way, store, bytes);
}

#define BUILD(name, ...)                                                                        \
	static NEVER_INLINE void miss_##name(struct hierarchy *h, struct core *core,            \
					     uint32_t line, void *set, struct fresh *fresh,     \
					     bool store, uint64_t bytes)                        \
	{                                                                                       \
		miss(h, (struct build){__VA_ARGS__}, core, line, set, fresh, store, bytes);     \
	}                                                                                       \
	static void load_or_store_##name(struct hierarchy *h, struct core *core, uint32_t line, \
					 bool store, uint64_t bytes)                            \
	{                                                                                       \
		load_or_store(h, (struct build){__VA_ARGS__}, miss_##name, core, line, store,   \
			      bytes);                                                           \
	}

BUILD(exclusive, 3, 2, true, true)
BUILD(three, 3, 2, true, false)
BUILD(two, 2, 1, true, false)
BUILD(any, h->n_levels, h->n_private, false, false)

void load_store_choose(struct hierarchy *h)
{
	const struct level *levels = h->levels;
	bool small = levels[0].shape.small && !levels[0].shape.debts && !h->write_through;
	for (int at = 1; at < h->n_levels; at++)
		small = small && levels[at].shape.small;
	h->load_or_store = !small                                  ? load_or_store_any
			   : h->n_levels == 2 && h->n_private == 1 ? load_or_store_two
			   : h->n_levels != 3 || h->n_private != 2 ? load_or_store_any
			   : levels[1].shape.debts                 ? load_or_store_exclusive
								   : load_or_store_three;
}
