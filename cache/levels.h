/* What a hierarchy consists of: levels of sets, private to a core or shared by all; and where a
 * line may be in them.
 *
 * The code for loads and stores is compiled several times, each time for some constants (struct
 * build); so what it is made of stands in headers. */
#pragma once

#include "cache/hierarchy.h"
#include "cache/presence.h"
#include "cache/regions.h"
#include "cache/set.h"

#include <string.h>

#define ALL_BYTES UINT64_MAX
#define MASK_WORDS (CACHE_LINE_MOST / 64)
#define NO_SLOT (-1)
#define ALWAYS_INLINE inline __attribute__((always_inline))
#define NEVER_INLINE __attribute__((noinline))

struct level {
	struct set_shape shape;
	enum cache_inclusion inclusion;
	uint32_t sets; /* of a group */
	bool power_of_two;
	uint64_t reciprocal; /* 2^64 / sets, rounded up */
};

/* Which bytes of a line, of any size, were written. */
struct written {
	uint64_t words[MASK_WORDS];
};

/* Lines of a set of L1 that came from memory for a store and may yet be written whole: bit i of
 * pending.  Where lines are not those of CACHE_LINE their bytes are in
 * struct core's written. */
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
	struct written *written;  /* of each way of these sets; NULL where lines are CACHE_LINE */
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
	bool tell_open;       /* events that are open are noted */
	uint64_t n_combining; /* buffers in use, of all cores */
	void (*load_or_store)(struct hierarchy *h, struct core *core, uint32_t line, bool store,
			      uint64_t bytes);
	hierarchy_note *note;
	void *context;
	uint64_t n_lost;
	uint64_t n_taken; /* hierarchy_taken */
	/* The access at hand. */
	unsigned slot, group;
	uint32_t who;
	uint64_t line;
	unsigned first, n; /* its bytes in the line */
	unsigned line_bytes;
	/* Of L1: a store goes on to L2; and does not bring its line in. */
	bool write_through, no_write_allocate;
	hierarchy_through *through; /* or NULL */
};

/* Makes the levels of a geometry, and the sets of those that are shared.  False when memory is
 * short; levels_destroy frees what there is of them, and of all cores. */
bool levels_create(struct hierarchy *h, const struct geometry *geometry);
void levels_destroy(struct hierarchy *h);

/* Takes all lines out of all levels, and forgets what is watched of them.  Nothing is noted. */
void levels_empty(struct hierarchy *h);

/* Adds the core of that number, and those below it; NULL when memory is short. */
struct core *levels_add_core(struct hierarchy *h, unsigned number);

/* The core of that number; NULL when memory is short. */
static inline struct core *core_at(struct hierarchy *h, unsigned number)
{
	if (__builtin_expect(number < h->n_cores && h->cores[number] != NULL, 1))
		return h->cores[number];
	return levels_add_core(h, number);
}

/* ---- bytes of lines of any size ---- */

static inline void written_add(struct written *written, unsigned first, unsigned n)
{
	for (unsigned at = first; at < first + n;) {
		const unsigned to_end = 64 - at % 64, left = first + n - at;
		const unsigned here = left < to_end ? left : to_end;
		written->words[at / 64] |= line_bytes(at % 64, here);
		at += here;
	}
}

/* Whether these bytes are among those that were written. */
static inline bool written_has(const struct written *written, unsigned first, unsigned n)
{
	struct written more = *written;
	written_add(&more, first, n);
	return memcmp(&more, written, sizeof(more)) == 0;
}

/* ---- where a line may be ---- */

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

static inline void *set_at(const struct hierarchy *h, const struct core *core, int at,
			   uint32_t line)
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
		lru_touch(&((struct set_header *)set)->order, way);
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

/* Of a way that fresh tells of, where lines are not CACHE_LINE. */
static inline struct written *written_at(const struct hierarchy *h, const struct core *core,
					 const struct fresh *fresh, unsigned way)
{
	const size_t set = (size_t)((const char *)fresh - core->fresh) / h->fresh_bytes;
	return &core->written[set * h->levels[0].shape.ways + way];
}

static inline void fresh_end(struct hierarchy *h, struct core *core, uint32_t line, int way)
{
	fresh_at(h, core, line)->pending &= ~(UINT64_C(1) << way);
}

static inline struct build build_of(const struct hierarchy *h)
{
	return (struct build){h->n_levels, h->n_private, false, false};
}
