#include "cache/hierarchy.h"

#include "base/array.h"
#include "cache/presence.h"
#include "cache/regions.h"
#include "cache/set.h"
#include "cache/write_combining.h"

#include <stdlib.h>

#define ALL_BYTES UINT64_MAX
#define NO_SLOT (-1)
#define ALWAYS_INLINE inline __attribute__((always_inline))
#define NEVER_INLINE __attribute__((noinline))
#define PRESENCE_CORES 3 /* with fewer a search is cheaper than the counting */

struct level {
	struct set_shape shape;
	enum cache_inclusion inclusion;
	uint32_t sets; /* of a group */
	bool power_of_two;
	uint64_t reciprocal; /* 2^64 / sets, rounded up */
};

/* Lines of a set of L1 that came from memory for a store and may yet be written whole: bit i of
 * pending. */
struct fresh {
	uint64_t pending;
	struct {
		uint64_t written;
		uint32_t who;
	} ways[]; /* bytes; who did the write-allocate */
};

struct core {
	char *sets[CACHE_LEVELS]; /* slot after slot; the shared levels' are common to all cores */
	char *fresh;              /* beside those of L1 */
	struct combining *combining; /* by slot; NULL before the first non-temporal store */
};

/* What the code for loads and stores is compiled for: constants make it two to three times as fast.
 */
struct build {
	int n_levels, n_private;
	bool small;     /* all sets are small */
	bool exclusive; /* with small: only the L3 is a victim cache; not: none is */
};

struct hierarchy {
	int n_levels, n_private;
	struct level levels[CACHE_LEVELS];
	size_t fresh_bytes;
	struct core **cores; /* NULL: not used yet */
	size_t n_cores, cap_cores;
	struct core common; /* the sets of the shared levels */
	struct presence presence;
	size_t presence_cores; /* for how many there is room in it */
	unsigned groups, n_slots;
	int8_t slots[CACHE_CLASSES]; /* of the group of a class, or NO_SLOT */
	uint64_t classes;
	struct regions regions;
	int prefetch_into;    /* level, or −1: no prefetch */
	uint64_t n_combining; /* buffers in use, of all cores */
	void (*load_or_store)(struct hierarchy *h, struct core *core, uint32_t line, bool store,
			      uint64_t bytes);
	hierarchy_note *note;
	void *context;
	uint64_t n_lost;
	size_t memory;
	/* The access at hand. */
	unsigned slot, group;
	uint32_t who;
	uint64_t line;
};

/* ---- Events ---- */

enum direction { READ, WRITE_ALLOCATE, WRITE_BACK };

/* By the border: 1 is above the second level, …, the last is that of memory. */
static ALWAYS_INLINE enum traffic event_of(int n_levels, int border, enum direction direction)
{
	static const enum traffic events[CACHE_LEVELS][3] = {
		{TRAFFIC_L2_READ, TRAFFIC_L2_WRITE_ALLOCATE, TRAFFIC_L2_WRITE_BACK},
		{TRAFFIC_L3_READ, TRAFFIC_L3_WRITE_ALLOCATE, TRAFFIC_L3_WRITE_BACK},
		{TRAFFIC_MEM_READ, TRAFFIC_MEM_WRITE_ALLOCATE, TRAFFIC_MEM_WRITE_BACK},
	};
	return events[border == n_levels ? CACHE_LEVELS - 1 : border - 1][direction];
}

static void note(struct hierarchy *h, enum traffic event, uint32_t who, uint32_t line)
{
	h->note(h->context, event, who, regions_line(&h->regions, line, h->group));
}

/* Of the line of the access at hand, for who makes it. */
static void note_here(struct hierarchy *h, enum traffic event)
{
	h->note(h->context, event, h->who, h->line);
}

/* A line on its way between two levels; without a debt when it is changed. */
struct moving {
	uint32_t line; /* 0: none */
	uint32_t who;  /* the last writer when it is changed, else who fetched it */
	bool changed;
	struct debt debt;
};

/* A line goes down to level `to` (n_levels: memory).  Where its change is known it is a clean
 * victim; behind that level it is a changed line. */
static ALWAYS_INLINE void go_down(struct hierarchy *h, int n_levels, struct moving *line, int to)
{
	enum traffic changed = event_of(n_levels, to, WRITE_BACK);
	if (line->changed || (to == 2 && n_levels > 2))
		note(h, line->changed ? changed : TRAFFIC_L3_CLEAN_VICTIM, line->who, line->line);
	bool due = !line->changed && line->debt.level == (uint32_t)to;
	line->who = due ? line->debt.writer : line->who;
	line->changed = line->changed || due;
	line->debt.level = line->changed ? 0 : line->debt.level;
}

/* The same through all levels from `from` to `to`. */
static void go_down_to(struct hierarchy *h, struct moving *line, int from, int to)
{
	for (int at = from + 1; at <= to; at++)
		go_down(h, h->n_levels, line, at);
}

/* ---- Where a line may be ---- */

/* x mod sets, by Lemire, Kaser, Kurz: Faster remainder by direct computation (2019): exact for 32
 * bits. */
static inline uint32_t set_index(const struct level *level, uint32_t x)
{
	if (level->power_of_two)
		return x & (level->sets - 1);
	return (unsigned __int128)(level->reciprocal * x) * level->sets >> 64;
}

static inline size_t set_number(const struct hierarchy *h, int at, uint32_t line)
{
	const struct level *level = &h->levels[at];
	return (size_t)h->slot * level->sets +
	       set_index(level, regions_set_sum(&h->regions, line, at));
}

/* Whether the next level is a victim cache. */
static ALWAYS_INLINE bool has_debts(const struct hierarchy *h, struct build b, int at)
{
	return b.small ? b.exclusive && at == 1 : h->levels[at].shape.debts;
}

static ALWAYS_INLINE void *set_at_with(const struct hierarchy *h, struct build b,
				       const struct core *core, int at, uint32_t line)
{
	size_t bytes = !b.small              ? h->levels[at].shape.bytes
		       : has_debts(h, b, at) ? sizeof(struct small_debt_set)
					     : sizeof(struct small_set);
	return core->sets[at] + set_number(h, at, line) * bytes;
}

static void *set_at(const struct hierarchy *h, const struct core *core, int at, uint32_t line)
{
	return set_at_with(h, (struct build){0}, core, at, line);
}

/* Asks for what a search of a set reads. */
static ALWAYS_INLINE void prefetch_set(const void *set)
{
	__builtin_prefetch(set);
	__builtin_prefetch((const char *)set + CACHE_LINE);
}

static ALWAYS_INLINE int find_in(const struct hierarchy *h, struct build b, int at, void *set,
				 uint32_t line)
{
	return b.small ? small_set_find(set, line) : set_find(&h->levels[at].shape, set, line);
}

static ALWAYS_INLINE void touch_in(const struct hierarchy *h, struct build b, int at, void *set,
				   unsigned way)
{
	if (b.small)
		small_set_touch(set, way);
	else
		set_touch(&h->levels[at].shape, set, way);
}

static ALWAYS_INLINE uint32_t *who_in(const struct hierarchy *h, struct build b, int at, void *set)
{
	return b.small ? ((struct small_set *)set)->who : set_who(&h->levels[at].shape, set);
}

static ALWAYS_INLINE struct debt *debts_in(const struct hierarchy *h, struct build b, int at,
					   void *set)
{
	return b.small ? ((struct small_debt_set *)set)->debts
		       : set_debts(&h->levels[at].shape, set);
}

static ALWAYS_INLINE void change_in(const struct hierarchy *h, struct build b, int at, void *set,
				    unsigned way, uint32_t who)
{
	((struct set_header *)set)->changed |= UINT64_C(1) << way;
	who_in(h, b, at, set)[way] = who;
}

static inline struct fresh *fresh_at(struct hierarchy *h, const struct core *core, uint32_t line)
{
	return (struct fresh *)(core->fresh + set_number(h, 0, line) * h->fresh_bytes);
}

/* ---- Lines leave ---- */

static void remove_way(struct hierarchy *h, int at, void *set, int way)
{
	if (at < h->n_private)
		presence_remove(&h->presence, h->slot, set_lines(set)[way]);
	set_remove(&h->levels[at].shape, set, way);
}

static void fresh_end(struct hierarchy *h, struct core *core, uint32_t line, int way)
{
	fresh_at(h, core, line)->pending &= ~(UINT64_C(1) << way);
}

/* What a way holds; without `who` where it is neither changed nor above a victim cache. */
static ALWAYS_INLINE struct moving line_at(const struct hierarchy *h, struct build b, int at,
					   void *set, unsigned way)
{
	struct moving line = {.line = set_lines(set)[way], .changed = set_changed(set, way)};
	if (has_debts(h, b, at)) {
		line.who = who_in(h, b, at, set)[way];
		line.debt = debts_in(h, b, at, set)[way];
		line.debt.level = line.changed ? 0 : line.debt.level;
	} else if (line.changed) {
		line.who = who_in(h, b, at, set)[way];
	}
	return line;
}

/* Takes a line out of the levels `from` to `to` − 1 (of this core, or shared), or only its changes
 * and debts. Returns the innermost level in which it had any, with the line in *found, or −1;
 * *present is set when it was in any. */
static int withdraw(struct hierarchy *h, struct core *core, int from, int to, uint32_t line,
		    bool remove, struct moving *found, bool *present)
{
	int innermost = -1;
	for (int at = from; at < to; at++) {
		const struct set_shape *shape = &h->levels[at].shape;
		void *set = set_at(h, core, at, line);
		int way = set_find(shape, set, line);
		if (way < 0)
			continue;
		*present = true;
		bool owed = shape->debts && set_debts(shape, set)[way].level;
		if (innermost < 0 && (owed || set_changed(set, way))) {
			innermost = at;
			*found = line_at(h, (struct build){0}, at, set, way);
		}
		if (owed)
			set_debts(shape, set)[way].level = 0;
		if (at == 0)
			fresh_end(h, core, line, way);
		if (remove)
			remove_way(h, at, set, way);
		else
			set_clean(set, way);
	}
	return innermost;
}

/* The same for all cores and all levels above `to`. */
static int withdraw_all(struct hierarchy *h, int to, uint32_t line, bool remove,
			struct moving *found)
{
	int innermost = -1, n_private = to < h->n_private ? to : h->n_private;
	bool present = false;
	struct moving here;
	for (size_t i = 0; i < h->n_cores; i++) {
		int at = h->cores[i] ? withdraw(h, h->cores[i], 0, n_private, line, remove, &here,
						&present)
				     : -1;
		if (at >= 0 && innermost < 0) {
			innermost = at;
			*found = here;
		}
	}
	int at = withdraw(h, &h->common, n_private, to, line, remove, &here, &present);
	if (at < 0 || innermost >= 0)
		return innermost;
	*found = here;
	return at;
}

/* A line has left an inclusive level, and so leaves those above; their changes go down. */
static void back_invalidate(struct hierarchy *h, struct core *core, int at, struct moving *line)
{
	bool present = false;
	struct moving above;
	int from = at < h->n_private ? withdraw(h, core, 0, at, line->line, true, &above, &present)
				     : withdraw_all(h, at, line->line, true, &above);
	if (from < 0)
		return;
	go_down_to(h, &above, from, at);
	*line = above;
}

/* ---- Lines come in ---- */

/* Puts a line into a set in the place of another, without its state. */
static ALWAYS_INLINE struct moving replace(struct hierarchy *h, struct build b, int at, void *set,
					   uint32_t line, unsigned *way)
{
	const struct set_shape *shape = &h->levels[at].shape;
	*way = b.small ? small_set_replace(set, shape->ways) : set_replace(shape, set);
	struct moving victim = line_at(h, b, at, set, *way);
	if (victim.changed)
		set_clean(set, *way);
	set_lines(set)[*way] = line;
	if (at < b.n_private && h->presence.counts) {
		presence_add(&h->presence, h->slot, line);
		if (victim.line)
			presence_remove(&h->presence, h->slot, victim.line);
	}
	return victim;
}

/* Notes the state of a line that was put into a way. */
static ALWAYS_INLINE void set_state(struct hierarchy *h, struct build b, int at, void *set,
				    unsigned way, const struct moving *line)
{
	if (has_debts(h, b, at)) {
		who_in(h, b, at, set)[way] = line->who;
		debts_in(h, b, at, set)[way] = line->debt;
	}
	if (line->changed)
		change_in(h, b, at, set, way, line->who);
}

/* Where a line goes that has been replaced in a level: the next, n_levels for memory, or −1 for
 * nowhere. */
static ALWAYS_INLINE int victim_goes(struct hierarchy *h, struct build b, struct core *core, int at,
				     struct moving *victim)
{
	if (at > 0 && h->levels[at].inclusion == CACHE_INCLUSIVE)
		back_invalidate(h, core, at, victim);
	if (!victim->changed && !has_debts(h, b, at))
		return -1;
	go_down(h, b.n_levels, victim, at + 1);
	return at + 1;
}

/* Puts a line into a level.  What it replaces is left in *line, for the level that is returned:
 * n_levels or −1 when there is nothing to be done with it. */
static ALWAYS_INLINE int put_into(struct hierarchy *h, struct build b, struct core *core, int at,
				  struct moving *line)
{
	void *set = set_at_with(h, b, core, at, line->line);
	if (at == b.n_levels - 1)
		prefetch_set((char *)set + h->levels[at].shape.bytes);
	int found = find_in(h, b, at, set, line->line);
	unsigned way = found;
	struct moving out = {0};
	if (found >= 0)
		touch_in(h, b, at, set, way);
	else
		out = replace(h, b, at, set, line->line, &way);
	if (found < 0 || line->changed || (line->debt.level && !set_changed(set, way)))
		set_state(h, b, at, set, way, line);
	*line = out;
	return out.line ? victim_goes(h, b, core, at, line) : -1;
}

/* Puts a line into a level, what it replaces into the next, and so on. */
static ALWAYS_INLINE void put_with(struct hierarchy *h, struct build b, struct core *core, int at,
				   struct moving line)
{
	if (at == 1 && b.n_levels > 1)
		at = put_into(h, b, core, 1, &line);
	if (at == 2 && b.n_levels > 2)
		put_into(h, b, core, 2, &line);
}

static struct build build_of(const struct hierarchy *h)
{
	return (struct build){h->n_levels, h->n_private, false, false};
}

static NEVER_INLINE void put(struct hierarchy *h, struct core *core, int at, struct moving line)
{
	put_with(h, build_of(h), core, at, line);
}

/* Puts a line that is not there into a set of a level.  Returns the way. */
static ALWAYS_INLINE unsigned insert(struct hierarchy *h, struct build b, struct core *core, int at,
				     void *set, struct moving in)
{
	unsigned way;
	struct moving out = replace(h, b, at, set, in.line, &way);
	set_state(h, b, at, set, way, &in);
	if (out.line)
		put_with(h, b, core, victim_goes(h, b, core, at, &out), out);
	return way;
}

/* ---- Other cores ---- */

/* Before a core reads or writes a line: what others have changed, or owe, moves to the first shared
 * level (without one, to memory); before a write the others lose it.  Returns whether any other had
 * it. */
static NEVER_INLINE bool snoop(struct hierarchy *h, const struct core *me, uint32_t line,
			       bool write)
{
	bool present = false;
	for (size_t i = 0; i < h->n_cores; i++) {
		struct core *other = h->cores[i];
		if (!other || other == me)
			continue;
		struct moving found;
		int from = withdraw(h, other, 0, h->n_private, line, write, &found, &present);
		if (from < 0)
			continue;
		go_down_to(h, &found, from, h->n_private);
		if (h->n_private < h->n_levels)
			put(h, other, h->n_private, found);
	}
	return present;
}

static bool any_has(struct hierarchy *h, uint32_t line)
{
	if (!presence_maybe(&h->presence, h->slot, line, 0))
		return false;
	for (size_t i = 0; i < h->n_cores; i++)
		for (int at = 0; h->cores[i] && at < h->n_private; at++)
			if (set_find(&h->levels[at].shape, set_at(h, h->cores[i], at, line),
				     line) >= 0)
				return true;
	return false;
}

/* ---- Loads and stores ---- */

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

/* Takes a line from a level that has it, for the access at hand: a victim cache gives it away, with
 * what it owes, unless other cores have it, too. */
static ALWAYS_INLINE struct moving take(struct hierarchy *h, struct build b, int at, void *set,
					unsigned way, bool kept, uint32_t line)
{
	struct moving taken = {.line = line, .who = h->who};
	if (h->levels[at].inclusion != CACHE_VICTIM || kept) {
		touch_in(h, b, at, set, way);
		return taken;
	}
	if (set_changed(set, way))
		taken.debt = (struct debt){who_in(h, b, at, set)[way], at};
	else if (has_debts(h, b, at))
		taken.debt = debts_in(h, b, at, set)[way];
	remove_way(h, at, set, way);
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
			note_here(h, event_of(b.n_levels, border, direction));
	if (from_memory)
		note_here(h, event_of(b.n_levels, b.n_levels, direction));
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
	if (!compact || any_has(h, compact))
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
static void fresh_begin(struct hierarchy *h, struct fresh *fresh, unsigned way, uint64_t bytes)
{
	if (bytes == ALL_BYTES) {
		note_here(h, TRAFFIC_MEM_EVADABLE);
		return;
	}
	fresh->pending |= UINT64_C(1) << way;
	fresh->ways[way].written = bytes;
	fresh->ways[way].who = h->who;
}

/* A line that came for a store is loaded or stored to: is it written whole, or read before it is?
 */
static void fresh_access(struct hierarchy *h, struct fresh *fresh, int way, bool store,
			 uint64_t bytes)
{
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
		snoop(h, core, line, true);
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
			elsewhere = snoop(h, core, line, store);
		find_supply(h, b, supply, b.n_private, b.n_levels, line);
	} else if (store && h->n_cores > 1 &&
		   !set_changed(supply->sets[supply->level], supply->way)) {
		snoop(h, core, line, true);
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
			fresh_begin(h, fresh, way, bytes);
	}
	if (h->prefetch_into >= 0 && supply.level > h->prefetch_into)
		prefetch(h, core, direction);
}

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
	if (way < 0) {
		on_miss(h, core, line, set, fresh, store, bytes);
		return;
	}
	touch_in(h, b, 0, set, way);
	if (store) {
		if (h->n_cores > 1 && !set_changed(set, way))
			claim(h, core, line);
		change_in(h, b, 0, set, way, h->who);
	}
	if (fresh->pending >> way & 1)
		fresh_access(h, fresh, way, store, bytes);
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

static void choose_build(struct hierarchy *h)
{
	const struct level *levels = h->levels;
	bool small = levels[0].shape.small && !levels[0].shape.debts;
	for (int at = 1; at < h->n_levels; at++)
		small = small && levels[at].shape.small;
	h->load_or_store = !small                                  ? load_or_store_any
			   : h->n_levels == 2 && h->n_private == 1 ? load_or_store_two
			   : h->n_levels != 3 || h->n_private != 2 ? load_or_store_any
			   : levels[1].shape.debts                 ? load_or_store_exclusive
								   : load_or_store_three;
}

/* ---- Past the caches ---- */

/* What is changed of a line is written to memory; the caches lose it, or keep it unchanged. */
static void flush(struct hierarchy *h, uint32_t line, bool remove)
{
	struct moving found;
	int from = withdraw_all(h, h->n_levels, line, remove, &found);
	if (from >= 0)
		go_down_to(h, &found, from, h->n_levels);
}

static void combining_end(struct hierarchy *h, struct combining *buffers,
			  struct combining_line *buffer)
{
	struct combining_line line = combining_take(buffers, buffer);
	h->n_combining--;
	note(h, TRAFFIC_MEM_NON_TEMPORAL, line.who, line.line);
}

/* Writes out what cores, other than `but`, have combined of a line. */
static void combining_flush(struct hierarchy *h, const struct core *but, uint32_t line)
{
	for (size_t i = 0; i < h->n_cores; i++) {
		struct core *core = h->cores[i];
		if (!core || core == but || !core->combining)
			continue;
		struct combining_line *buffer = combining_find(&core->combining[h->slot], line);
		if (buffer)
			combining_end(h, &core->combining[h->slot], buffer);
	}
}

static bool combining_create(struct hierarchy *h, struct core *core)
{
	if (!core->combining) {
		core->combining = calloc(h->n_slots, sizeof(*core->combining));
		h->memory += h->n_slots * sizeof(*core->combining);
	}
	return core->combining != NULL;
}

static void non_temporal(struct hierarchy *h, struct core *core, uint32_t line, uint64_t bytes)
{
	if (!combining_create(h, core)) {
		h->n_lost++;
		return;
	}
	struct combining *buffers = &core->combining[h->slot];
	struct combining_line *buffer = combining_find(buffers, line);
	if (h->n_combining)
		combining_flush(h, core, line);
	if (!buffer) {
		flush(h, line, true);
		if (buffers->n == CACHE_COMBINING)
			combining_end(h, buffers, buffers->lines);
		buffer = &buffers->lines[buffers->n++];
		*buffer = (struct combining_line){.line = line};
		h->n_combining++;
	}
	buffer->who = h->who;
	buffer->written |= bytes;
	if (buffer->written == ALL_BYTES)
		combining_end(h, buffers, buffer);
}

/* ---- Cores ---- */

static void *allocate(struct hierarchy *h, size_t bytes)
{
	void *memory = calloc(1, bytes);
	if (memory)
		h->memory += bytes;
	return memory;
}

static void core_destroy(struct hierarchy *h, struct core *core)
{
	if (!core)
		return;
	for (int i = 0; i < h->n_private; i++)
		free(core->sets[i]);
	free(core->fresh);
	free(core->combining);
	free(core);
}

static char *allocate_sets(struct hierarchy *h, const struct level *level)
{
	return allocate(h, (size_t)h->n_slots * level->sets * level->shape.bytes);
}

static struct core *core_create(struct hierarchy *h)
{
	struct core *core = allocate(h, sizeof(*core));
	if (!core)
		return NULL;
	*core = h->common;
	bool complete = true;
	for (int i = 0; i < h->n_private; i++)
		complete = (core->sets[i] = allocate_sets(h, &h->levels[i])) && complete;
	core->fresh = allocate(h, (size_t)h->n_slots * h->levels[0].sets * h->fresh_bytes);
	if (complete && core->fresh)
		return core;
	core_destroy(h, core);
	return NULL;
}

/* Counts the copies that a core has of each line. */
static void presence_count(struct hierarchy *h, const struct core *core)
{
	for (int at = 0; at < h->n_private; at++) {
		const struct level *level = &h->levels[at];
		char *set = core->sets[at];
		for (uint32_t i = 0; i < h->n_slots * level->sets; i++, set += level->shape.bytes)
			for (unsigned way = 0; way < level->shape.ways; way++)
				if (set_lines(set)[way])
					presence_add(&h->presence, i / level->sets,
						     set_lines(set)[way]);
	}
}

/* Makes counts for twice as many cores as there are; without memory for them every core is
 * searched. */
static void presence_create(struct hierarchy *h)
{
	size_t lines = 0;
	for (int at = 0; at < h->n_private; at++)
		lines += (size_t)h->n_slots * h->levels[at].sets * h->levels[at].shape.ways;
	h->presence_cores = 2 * h->n_cores;
	h->presence.shift = 63;
	while (UINT64_C(1) << (64 - h->presence.shift) < 2 * lines * h->presence_cores)
		h->presence.shift--;
	free(h->presence.counts);
	h->presence.counts = allocate(h, sizeof(*h->presence.counts) << (64 - h->presence.shift));
	for (size_t i = 0; h->presence.counts && i < h->n_cores; i++)
		if (h->cores[i])
			presence_count(h, h->cores[i]);
}

static NEVER_INLINE struct core *core_add(struct hierarchy *h, unsigned number)
{
	while (h->n_cores <= number)
		if (!rf_array_push(h->cores, h->n_cores, h->cap_cores, NULL))
			return NULL;
	if (!h->cores[number])
		h->cores[number] = core_create(h);
	if (h->n_cores >= PRESENCE_CORES && h->n_cores > h->presence_cores)
		presence_create(h);
	return h->cores[number];
}

static inline struct core *core_at(struct hierarchy *h, unsigned number)
{
	if (__builtin_expect(number < h->n_cores && h->cores[number] != NULL, 1))
		return h->cores[number];
	return core_add(h, number);
}

/* ---- Public ---- */

static void level_init(struct level *level, const struct cache_level *given, bool above_victim,
		       unsigned groups)
{
	set_shape_init(&level->shape, given, above_victim);
	level->inclusion = given->inclusion;
	level->sets = given->sets / groups;
	level->power_of_two = !(level->sets & (level->sets - 1));
	level->reciprocal = UINT64_MAX / level->sets + 1;
}

static void slots_init(struct hierarchy *h, uint64_t classes)
{
	int of_group[CACHE_CLASSES];
	for (unsigned i = 0; i < CACHE_CLASSES; i++) {
		if (i < h->groups)
			of_group[i] = classes >> i & 1 ? (int)h->n_slots++ : NO_SLOT;
		h->slots[i] = of_group[i % h->groups];
	}
}

static int prefetch_level(const struct geometry *geometry)
{
	return geometry->n_levels > 1 && geometry->levels[1].inclusion != CACHE_VICTIM ? 1 : 0;
}

static bool levels_create(struct hierarchy *h, const struct geometry *geometry)
{
	for (int i = 0; i < h->n_levels; i++) {
		bool above_victim =
			i + 1 < h->n_levels && geometry->levels[i + 1].inclusion == CACHE_VICTIM;
		level_init(&h->levels[i], &geometry->levels[i], above_victim, h->groups);
		h->n_private += !geometry->levels[i].shared;
	}
	h->levels[0].inclusion = CACHE_NON_INCLUSIVE;
	h->fresh_bytes = sizeof(struct fresh) +
			 geometry->levels[0].ways * sizeof(((struct fresh *)0)->ways[0]);
	for (int i = h->n_private; i < h->n_levels; i++)
		if (!(h->common.sets[i] = allocate_sets(h, &h->levels[i])))
			return false;
	return true;
}

struct hierarchy *hierarchy_create(const struct geometry *geometry, unsigned n_cores,
				   uint64_t classes, bool next_line_prefetch,
				   hierarchy_note *note_event, void *context)
{
	struct hierarchy *h = calloc(1, sizeof(*h));
	if (!h)
		return NULL;
	h->n_levels = geometry->n_levels;
	h->groups = geometry_class_groups(geometry);
	h->classes = geometry_classes(geometry, classes, next_line_prefetch);
	h->prefetch_into = next_line_prefetch ? prefetch_level(geometry) : -1;
	h->note = note_event;
	h->context = context;
	slots_init(h, h->classes);
	regions_init(&h->regions, geometry, h->groups);
	bool complete = levels_create(h, geometry) && (n_cores == 0 || core_add(h, n_cores - 1));
	choose_build(h);
	if (complete)
		return h;
	hierarchy_destroy(h);
	return NULL;
}

void hierarchy_destroy(struct hierarchy *h)
{
	if (!h)
		return;
	for (size_t i = 0; i < h->n_cores; i++)
		core_destroy(h, h->cores[i]);
	free(h->cores);
	for (int i = h->n_private; i < h->n_levels; i++)
		free(h->common.sets[i]);
	free(h->presence.counts);
	regions_deinit(&h->regions);
	free(h);
}

uint64_t hierarchy_classes(const struct hierarchy *h)
{
	return h->classes;
}

uint64_t hierarchy_lost(const struct hierarchy *h)
{
	return h->n_lost;
}

size_t hierarchy_memory(const struct hierarchy *h)
{
	return h->memory + sizeof(*h) + h->regions.cap_items * sizeof(*h->regions.items);
}

static inline uint64_t byte_mask(unsigned first, unsigned n)
{
	return n >= CACHE_LINE ? ALL_BYTES : ((UINT64_C(1) << n) - 1) << (first % CACHE_LINE);
}

void hierarchy_access(struct hierarchy *h, unsigned core_number, uint64_t line,
		      enum cache_access kind, unsigned first_byte, unsigned n_bytes, uint32_t who)
{
	int slot = h->slots[line % CACHE_CLASSES];
	if (slot == NO_SLOT)
		return;
	struct core *core = core_at(h, core_number);
	uint32_t compact = regions_compact(&h->regions, line);
	if (__builtin_expect(!core || !compact, 0)) {
		h->n_lost++;
		return;
	}
	h->slot = slot;
	h->group = line & (h->groups - 1);
	h->who = who;
	h->line = line;
	uint64_t bytes = byte_mask(first_byte, n_bytes);
	if (kind == CACHE_NON_TEMPORAL || kind == CACHE_LINE_ZERO) {
		non_temporal(h, core, compact, kind == CACHE_LINE_ZERO ? ALL_BYTES : bytes);
		return;
	}
	if (h->n_combining)
		combining_flush(h, NULL, compact);
	if (kind == CACHE_LOAD || kind == CACHE_STORE)
		h->load_or_store(h, core, compact, kind == CACHE_STORE, bytes);
	else
		flush(h, compact, kind == CACHE_FLUSH);
}

/* ---- The end ---- */

static void finish_combining(struct hierarchy *h)
{
	for (size_t i = 0; i < h->n_cores; i++) {
		struct combining *buffers = h->cores[i] ? h->cores[i]->combining : NULL;
		while (buffers && buffers[h->slot].n)
			combining_end(h, &buffers[h->slot], buffers[h->slot].lines);
	}
}

/* Notes the lines of a level's sets that are changed or owed, each once for all its copies. */
static void finish_sets(struct hierarchy *h, char *sets, int at)
{
	const struct level *level = &h->levels[at];
	char *set = sets + (size_t)h->slot * level->sets * level->shape.bytes;
	for (uint32_t i = 0; i < level->sets; i++, set += level->shape.bytes) {
		for (unsigned way = 0; way < level->shape.ways; way++) {
			struct moving line = line_at(h, (struct build){0}, at, set, way), found;
			if (!line.line || !(line.changed || line.debt.level))
				continue;
			if (withdraw_all(h, h->n_levels, line.line, false, &found) >= 0)
				note(h, TRAFFIC_MEM_LEFT,
				     found.changed ? found.who : found.debt.writer, line.line);
		}
	}
}

static void finish_group(struct hierarchy *h)
{
	finish_combining(h);
	for (int at = 0; at < h->n_levels; at++) {
		if (at >= h->n_private)
			finish_sets(h, h->common.sets[at], at);
		for (size_t i = 0; at < h->n_private && i < h->n_cores; i++)
			if (h->cores[i])
				finish_sets(h, h->cores[i]->sets[at], at);
	}
}

void hierarchy_finish(struct hierarchy *h)
{
	for (h->group = 0; h->group < h->groups; h->group++) {
		int slot = h->slots[h->group];
		if (slot == NO_SLOT)
			continue;
		h->slot = slot;
		finish_group(h);
	}
}
