#include "cache/hierarchy.h"

#include "base/array.h"
#include "cache/regions.h"
#include "cache/set.h"
#include "cache/write_combining.h"

#include <stdlib.h>

#define ALL_BYTES UINT64_MAX
#define NO_SLOT (-1)

struct level {
	struct set_shape shape;
	enum cache_inclusion inclusion;
	uint32_t sets;			/* of a group */
	bool power_of_two;
	uint64_t reciprocal;		/* 2^64 / sets, rounded up */
	char *shared;			/* the sets of a shared level: slot after slot */
};

/* Lines of a set of L1 that came from memory for a store and may yet be written whole: bit i of pending. */
struct fresh {
	uint64_t pending;
	struct { uint64_t written; uint32_t who; } ways[]; /* bytes; who did the write-allocate */
};

struct core {
	char *sets[CACHE_LEVELS];	/* of private levels: slot after slot */
	char *fresh;			/* beside those of L1 */
	struct combining *combining;	/* by slot; NULL before the first non-temporal store */
};

struct hierarchy {
	int n_levels, n_private;
	struct level levels[CACHE_LEVELS];
	size_t fresh_bytes;
	struct core **cores;
	size_t n_cores, cap_cores;
	unsigned groups, n_slots;
	int8_t slots[CACHE_CLASSES];	/* of the group of a class, or NO_SLOT */
	uint64_t classes;
	struct regions regions;
	int prefetch_into;		/* level, or −1: no prefetch */
	uint64_t n_combining;		/* buffers in use, of all cores */
	hierarchy_note *note;
	void *context;
	uint64_t n_lost;
	size_t memory;
	/* The access at hand. */
	unsigned slot, group;
	uint32_t who;
};

/* ---- Events ---- */

enum direction { READ, WRITE_ALLOCATE, WRITE_BACK };

/* By the border: 1 is above the second level, …, the last is that of memory. */
static enum traffic event_of(const struct hierarchy *h, int border, enum direction direction)
{
	static const enum traffic events[CACHE_LEVELS][3] = {
		{ TRAFFIC_L2_READ, TRAFFIC_L2_WRITE_ALLOCATE, TRAFFIC_L2_WRITE_BACK },
		{ TRAFFIC_L3_READ, TRAFFIC_L3_WRITE_ALLOCATE, TRAFFIC_L3_WRITE_BACK },
		{ TRAFFIC_MEM_READ, TRAFFIC_MEM_WRITE_ALLOCATE, TRAFFIC_MEM_WRITE_BACK },
	};
	return events[border == h->n_levels ? CACHE_LEVELS - 1 : border - 1][direction];
}

static void note(struct hierarchy *h, enum traffic event, uint32_t who, uint32_t line)
{
	h->note(h->context, event, who, regions_line(&h->regions, line, h->group));
}

/* A changed line goes down from level `from` to level `to` (n_levels: memory). */
static void note_write_backs(struct hierarchy *h, int from, int to, uint32_t who, uint32_t line)
{
	for (int border = from + 1; border <= to; border++)
		note(h, event_of(h, border, WRITE_BACK), who, line);
}

/* ---- Where a line may be ---- */

/* x mod sets, by Lemire, Kaser, Kurz: Faster remainder by direct computation (2019): exact for 32 bits. */
static inline uint32_t set_index(const struct level *level, uint32_t x)
{
	if (level->power_of_two)
		return x & (level->sets - 1);
	return (unsigned __int128)(level->reciprocal * x) * level->sets >> 64;
}

static inline size_t set_number(const struct hierarchy *h, int at, uint32_t line)
{
	const struct level *level = &h->levels[at];
	return (size_t)h->slot * level->sets + set_index(level, regions_set_sum(&h->regions, line, at));
}

static inline void *set_at(struct hierarchy *h, const struct core *core, int at, uint32_t line)
{
	char *sets = at < h->n_private ? core->sets[at] : h->levels[at].shared;
	return sets + set_number(h, at, line) * h->levels[at].shape.bytes;
}

static inline struct fresh *fresh_at(struct hierarchy *h, const struct core *core, uint32_t line)
{
	return (struct fresh *)(core->fresh + set_number(h, 0, line) * h->fresh_bytes);
}

/* ---- Lines leave ---- */

static void put(struct hierarchy *h, struct core *core, int at, uint32_t line, bool changed, uint32_t who);

static void fresh_end(struct hierarchy *h, struct core *core, uint32_t line, int way)
{
	fresh_at(h, core, line)->pending &= ~(UINT64_C(1) << way);
}

/* Takes a line out of the levels `from` to `to` − 1 (of this core, or shared), or only its changes.  Returns
 * the innermost level in which it was changed, with the writer in *who, or −1; *present is set when it was in
 * any. */
static int withdraw(struct hierarchy *h, struct core *core, int from, int to, uint32_t line, bool remove,
		    uint32_t *who, bool *present)
{
	int innermost = -1;
	for (int at = from; at < to; at++) {
		const struct set_shape *shape = &h->levels[at].shape;
		void *set = set_at(h, core, at, line);
		int way = set_find(shape, set, line);
		if (way < 0)
			continue;
		*present = true;
		if (set_changed(set, way) && innermost < 0) {
			innermost = at;
			*who = set_who(shape, set)[way];
		}
		if (at == 0)
			fresh_end(h, core, line, way);
		if (remove)
			set_remove(shape, set, way);
		else
			set_clean(set, way);
	}
	return innermost;
}

/* The same for all cores and all levels above `to`. */
static int withdraw_all(struct hierarchy *h, int to, uint32_t line, bool remove, uint32_t *who)
{
	int innermost = -1, n_private = to < h->n_private ? to : h->n_private;
	bool present = false;
	uint32_t writer = 0;
	for (size_t i = 0; i < h->n_cores; i++) {
		int at = h->cores[i] ? withdraw(h, h->cores[i], 0, n_private, line, remove, &writer, &present) : -1;
		if (at >= 0 && innermost < 0) {
			innermost = at;
			*who = writer;
		}
	}
	int at = withdraw(h, NULL, n_private, to, line, remove, &writer, &present);
	if (at < 0 || innermost >= 0)
		return innermost;
	*who = writer;
	return at;
}

/* A line has left an inclusive level, and so leaves those above; their changes go down. */
static void back_invalidate(struct hierarchy *h, struct core *core, int at, uint32_t line, bool *changed,
			    uint32_t *who)
{
	bool present = false;
	uint32_t writer = 0;
	int from = at < h->n_private ? withdraw(h, core, 0, at, line, true, &writer, &present) :
				       withdraw_all(h, at, line, true, &writer);
	if (from < 0)
		return;
	note_write_backs(h, from, at, writer, line);
	*changed = true;
	*who = writer;
}

/* A line has been replaced in a level. */
static void evicted(struct hierarchy *h, struct core *core, int at, uint32_t line, bool changed, uint32_t who)
{
	if (at > 0 && h->levels[at].inclusion == CACHE_INCLUSIVE)
		back_invalidate(h, core, at, line, &changed, &who);
	if (changed) {
		note_write_backs(h, at, at + 1, who, line);
		if (at + 1 < h->n_levels)
			put(h, core, at + 1, line, true, who);
	} else if (at + 1 < h->n_levels && h->levels[at + 1].inclusion == CACHE_VICTIM) {
		if (at + 1 == 2)
			note(h, TRAFFIC_L3_CLEAN_VICTIM, h->who, line);
		put(h, core, at + 1, line, false, 0);
	}
}

/* ---- Lines come in ---- */

/* Returns the way. */
static unsigned insert(struct hierarchy *h, struct core *core, int at, uint32_t line, bool changed, uint32_t who)
{
	const struct set_shape *shape = &h->levels[at].shape;
	void *set = set_at(h, core, at, line);
	unsigned way = set_victim(shape, set);
	uint32_t old = set_lines(set)[way], old_who = 0;
	bool old_changed = set_changed(set, way);
	if (old_changed)
		old_who = set_who(shape, set)[way];
	set_lines(set)[way] = line;
	set_clean(set, way);
	if (changed)
		set_change(shape, set, way, who);
	set_touch(shape, set, way);
	if (at == 0)
		fresh_end(h, core, line, way);
	if (old)
		evicted(h, core, at, old, old_changed, old_who);
	return way;
}

/* What the level above has evicted. */
static void put(struct hierarchy *h, struct core *core, int at, uint32_t line, bool changed, uint32_t who)
{
	const struct set_shape *shape = &h->levels[at].shape;
	void *set = set_at(h, core, at, line);
	int way = set_find(shape, set, line);
	if (way < 0) {
		insert(h, core, at, line, changed, who);
		return;
	}
	set_touch(shape, set, way);
	if (changed)
		set_change(shape, set, way, who);
}

/* ---- Other cores ---- */

/* Before a core reads or writes a line: what others have changed moves to the first shared level (without
 * one, to memory); before a write the others lose it.  Returns whether any other had it. */
static bool snoop(struct hierarchy *h, const struct core *me, uint32_t line, bool write)
{
	bool present = false;
	for (size_t i = 0; i < h->n_cores; i++) {
		struct core *other = h->cores[i];
		if (!other || other == me)
			continue;
		uint32_t who = 0;
		int from = withdraw(h, other, 0, h->n_private, line, write, &who, &present);
		if (from < 0)
			continue;
		note_write_backs(h, from, h->n_private, who, line);
		if (h->n_private < h->n_levels)
			put(h, other, h->n_private, line, true, who);
	}
	return present;
}

static bool others_have(struct hierarchy *h, uint32_t line)
{
	for (size_t i = 0; i < h->n_cores; i++)
		for (int at = 0; h->cores[i] && at < h->n_private; at++)
			if (set_find(&h->levels[at].shape, set_at(h, h->cores[i], at, line), line) >= 0)
				return true;
	return false;
}

/* ---- Loads and stores ---- */

/* Where a line comes from. */
struct supply {
	int level;	/* n_levels: memory, or another core */
	int way;
	void *set;
	bool kept;	/* other cores have it, too */
};

static struct supply find_supply(struct hierarchy *h, struct core *core, int from, int to, uint32_t line)
{
	struct supply supply = { .level = from, .way = -1 };
	for (; supply.level < to; supply.level++) {
		supply.set = set_at(h, core, supply.level, line);
		supply.way = set_find(&h->levels[supply.level].shape, supply.set, line);
		if (supply.way >= 0)
			break;
	}
	return supply;
}

/* Brings a line into the levels above its supply down to level `to`; a victim cache gives it away, with its
 * changes, unless other cores have it, too.  Returns the way in `to`. */
static unsigned fill(struct hierarchy *h, struct core *core, const struct supply *supply, int to, uint32_t line)
{
	bool changed = false;
	uint32_t who = 0;
	unsigned way = 0;
	if (supply->level < h->n_levels) {
		const struct level *level = &h->levels[supply->level];
		if (level->inclusion == CACHE_VICTIM && !supply->kept) {
			changed = set_changed(supply->set, supply->way);
			who = changed ? set_who(&level->shape, supply->set)[supply->way] : 0;
			set_remove(&level->shape, supply->set, supply->way);
		} else {
			set_touch(&level->shape, supply->set, supply->way);
		}
	}
	for (int at = supply->level - 1; at >= to; at--) {
		if (at > to && h->levels[at].inclusion == CACHE_VICTIM)
			continue;
		way = insert(h, core, at, line, changed, who);
		changed = false;
	}
	return way;
}

static void note_supply(struct hierarchy *h, int from, const struct supply *supply, bool from_memory,
			enum direction direction, uint32_t line)
{
	for (int border = from; border <= supply->level && border < h->n_levels; border++)
		note(h, event_of(h, border, direction), h->who, line);
	if (from_memory)
		note(h, event_of(h, h->n_levels, direction), h->who, line);
}

/* Fetches the other line of the pair that `line` belongs to, if no core has it. */
static void prefetch(struct hierarchy *h, struct core *core, uint64_t line, enum direction direction)
{
	int to = h->prefetch_into;
	h->slot = h->slots[line % CACHE_CLASSES];
	h->group = line % h->groups;
	uint32_t compact = regions_compact(&h->regions, line);
	if (!compact || others_have(h, compact) || find_supply(h, core, 0, to + 1, compact).level <= to)
		return;
	struct supply supply = find_supply(h, core, to + 1, h->n_levels, compact);
	note_supply(h, to + 1, &supply, supply.level == h->n_levels, direction, compact);
	fill(h, core, &supply, to, compact);
}

/* Begins to watch whether a line is written whole. */
static void fresh_begin(struct hierarchy *h, struct core *core, uint32_t line, unsigned way, uint64_t bytes)
{
	struct fresh *fresh = fresh_at(h, core, line);
	if (bytes == ALL_BYTES) {
		note(h, TRAFFIC_MEM_EVADABLE, h->who, line);
		return;
	}
	fresh->pending |= UINT64_C(1) << way;
	fresh->ways[way].written = bytes;
	fresh->ways[way].who = h->who;
}

static void miss(struct hierarchy *h, struct core *core, uint64_t address, uint32_t line, bool store,
		 uint64_t bytes)
{
	int n = h->n_levels;
	bool elsewhere = false;
	if (n > 1)
		__builtin_prefetch(set_at(h, core, n - 1, line));
	struct supply supply = find_supply(h, core, 1, h->n_private, line);
	if (supply.level >= h->n_private) {
		elsewhere = h->n_cores > 1 && snoop(h, core, line, store);
		supply = find_supply(h, core, h->n_private, n, line);
	} else if (store && h->n_cores > 1 && !set_changed(supply.set, supply.way)) {
		snoop(h, core, line, true);
	}
	bool from_memory = supply.level == n && !(elsewhere && h->n_private < n);
	supply.kept = elsewhere && !store;
	enum direction direction = store ? WRITE_ALLOCATE : READ;
	note_supply(h, 1, &supply, from_memory, direction, line);
	unsigned way = fill(h, core, &supply, 0, line);
	if (store) {
		set_change(&h->levels[0].shape, set_at(h, core, 0, line), way, h->who);
		if (from_memory)
			fresh_begin(h, core, line, way, bytes);
	}
	if (h->prefetch_into >= 0 && supply.level > h->prefetch_into)
		prefetch(h, core, address ^ 1, direction);
}

/* A line that came for a store is loaded or stored to: is it written whole, or read before it is? */
static void fresh_access(struct hierarchy *h, struct fresh *fresh, uint32_t line, int way, bool store,
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
		note(h, TRAFFIC_MEM_EVADABLE, fresh->ways[way].who, line);
}

static void load_or_store(struct hierarchy *h, struct core *core, uint64_t address, uint32_t line, bool store,
			  uint64_t bytes)
{
	const struct set_shape *shape = &h->levels[0].shape;
	size_t number = set_number(h, 0, line);
	void *set = core->sets[0] + number * shape->bytes;
	int way = set_find(shape, set, line);
	if (way < 0) {
		miss(h, core, address, line, store, bytes);
		return;
	}
	set_touch(shape, set, way);
	if (store) {
		if (h->n_cores > 1 && !set_changed(set, way))
			snoop(h, core, line, true);
		set_change(shape, set, way, h->who);
	}
	struct fresh *fresh = (struct fresh *)(core->fresh + number * h->fresh_bytes);
	if (fresh->pending >> way & 1)
		fresh_access(h, fresh, line, way, store, bytes);
}

/* ---- Past the caches ---- */

/* What is changed of a line is written to memory; the caches lose it, or keep it unchanged. */
static void flush(struct hierarchy *h, uint32_t line, bool remove)
{
	uint32_t who = 0;
	int from = withdraw_all(h, h->n_levels, line, remove, &who);
	if (from >= 0)
		note_write_backs(h, from, h->n_levels, who, line);
}

static void combining_end(struct hierarchy *h, struct combining *buffers, struct combining_line *buffer)
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
		*buffer = (struct combining_line){ .line = line };
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

static void core_destroy(struct core *core)
{
	if (!core)
		return;
	for (int i = 0; i < CACHE_LEVELS; i++)
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
	bool complete = core != NULL;
	for (int i = 0; complete && i < h->n_private; i++)
		complete = (core->sets[i] = allocate_sets(h, &h->levels[i])) != NULL;
	if (complete)
		core->fresh = allocate(h, (size_t)h->n_slots * h->levels[0].sets * h->fresh_bytes);
	if (complete && core->fresh)
		return core;
	core_destroy(core);
	return NULL;
}

static __attribute__((noinline)) struct core *core_add(struct hierarchy *h, unsigned number)
{
	while (h->n_cores <= number)
		if (!rf_array_push(h->cores, h->n_cores, h->cap_cores, NULL))
			return NULL;
	if (!h->cores[number])
		h->cores[number] = core_create(h);
	return h->cores[number];
}

static inline struct core *core_at(struct hierarchy *h, unsigned number)
{
	if (__builtin_expect(number < h->n_cores && h->cores[number] != NULL, 1))
		return h->cores[number];
	return core_add(h, number);
}

/* ---- Public ---- */

static void level_init(struct level *level, const struct cache_level *given, unsigned groups)
{
	set_shape_init(&level->shape, given);
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
		level_init(&h->levels[i], &geometry->levels[i], h->groups);
		h->n_private += !geometry->levels[i].shared;
	}
	h->levels[0].inclusion = CACHE_NON_INCLUSIVE;
	h->fresh_bytes = sizeof(struct fresh) + geometry->levels[0].ways * sizeof(((struct fresh *)0)->ways[0]);
	for (int i = h->n_private; i < h->n_levels; i++)
		if (!(h->levels[i].shared = allocate_sets(h, &h->levels[i])))
			return false;
	return true;
}

struct hierarchy *hierarchy_create(const struct geometry *geometry, unsigned n_cores, uint64_t classes,
				   bool next_line_prefetch, hierarchy_note *note_event, void *context)
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
	if (levels_create(h, geometry) && (n_cores == 0 || core_add(h, n_cores - 1)))
		return h;
	hierarchy_destroy(h);
	return NULL;
}

void hierarchy_destroy(struct hierarchy *h)
{
	if (!h)
		return;
	for (size_t i = 0; i < h->n_cores; i++)
		core_destroy(h->cores[i]);
	free(h->cores);
	for (int i = 0; i < h->n_levels; i++)
		free(h->levels[i].shared);
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

void hierarchy_access(struct hierarchy *h, unsigned core_number, uint64_t line, enum cache_access kind,
		      unsigned first_byte, unsigned n_bytes, uint32_t who)
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
	h->group = line % h->groups;
	h->who = who;
	uint64_t bytes = byte_mask(first_byte, n_bytes);
	if (kind == CACHE_NON_TEMPORAL || kind == CACHE_LINE_ZERO) {
		non_temporal(h, core, compact, kind == CACHE_LINE_ZERO ? ALL_BYTES : bytes);
		return;
	}
	if (h->n_combining)
		combining_flush(h, NULL, compact);
	if (kind == CACHE_LOAD || kind == CACHE_STORE)
		load_or_store(h, core, line, compact, kind == CACHE_STORE, bytes);
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

/* Notes the changed lines of a level's sets, each once for all its copies. */
static void finish_sets(struct hierarchy *h, char *sets, const struct level *level)
{
	char *set = sets + (size_t)h->slot * level->sets * level->shape.bytes;
	for (uint32_t i = 0; i < level->sets; i++, set += level->shape.bytes) {
		for (unsigned way = 0; way < level->shape.ways; way++) {
			uint32_t line = set_lines(set)[way], who = 0;
			if (set_changed(set, way) && withdraw_all(h, h->n_levels, line, false, &who) >= 0)
				note(h, TRAFFIC_MEM_LEFT, who, line);
		}
	}
}

static void finish_group(struct hierarchy *h)
{
	finish_combining(h);
	for (int at = 0; at < h->n_levels; at++) {
		if (at >= h->n_private)
			finish_sets(h, h->levels[at].shared, &h->levels[at]);
		for (size_t i = 0; at < h->n_private && i < h->n_cores; i++)
			if (h->cores[i])
				finish_sets(h, h->cores[i]->sets[at], &h->levels[at]);
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
