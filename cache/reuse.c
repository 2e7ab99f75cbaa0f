/* Measures stack distances with a Fenwick tree over the times of lines' last uses. */
#include "cache/reuse.h"

#include "base/u64_map.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define WORD 64
#define NO_SLOT UINT32_MAX
#define ALL 0 /* the set of lines that count for all distances */

/* Some of the lines, by the times of their last uses. */
struct line_set {
	size_t n_lines;
	uint64_t *present; /* bit t: one of its lines is at t */
	/* Fenwick tree over the words of `present`: [i] is the sum of those from i minus the lowest
	 * bit of i to i - 1. */
	uint32_t *counts;
};

/* Uses are numbered; a line is at the number of its last use.  The distance of a line is how many
 * lines are at later numbers: set bits, counted by words in a Fenwick tree.  When the numbers run
 * out, the lines move together. */
struct reuse {
	size_t max_lines, n_times, time;
	uint64_t *present;     /* bit t: some line is at t */
	struct line_set *sets; /* ALL, and one for each group */
	unsigned n_sets;
	uint32_t *slot_at; /* by time */
	struct {
		uint64_t line;
		uint32_t time;
		uint8_t own; /* its set: ALL where there are no groups */
		bool is_in_all;
	} * slots;
	uint32_t *free_slots;
	size_t n_free;
	struct u64_map slot_of; /* line + 1 → slot */
	unsigned halvings;
	uint64_t n_lost;
	void (*dropped)(void *context, uint32_t slot);
	void *context;
};

/* Any mixing of all bits will do; this is the finaliser of MurmurHash3. */
static uint64_t hash(uint64_t x)
{
	x = (x ^ x >> 33) * UINT64_C(0xff51afd7ed558ccd);
	x = (x ^ x >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
	return x ^ x >> 33;
}

static bool is_chosen(const struct reuse *reuse, uint64_t line)
{
	return reuse->halvings == 0 || hash(line) >> (64 - reuse->halvings) == 0;
}

/* ---- Lines by the time of their last use ---- */

static void count_add(const struct reuse *reuse, struct line_set *set, size_t time, int change)
{
	set->present[time / WORD] ^= UINT64_C(1) << time % WORD;
	set->n_lines += (size_t)change;
	for (size_t i = time / WORD + 1; i <= reuse->n_times / WORD; i += i & -i)
		set->counts[i] += change;
}

/* A line comes to a time (+1), or leaves it (-1). */
static void count_line(struct reuse *reuse, uint32_t slot, size_t time, int change)
{
	const unsigned own = reuse->slots[slot].own;
	if (reuse->slots[slot].is_in_all)
		count_add(reuse, &reuse->sets[ALL], time, change);
	if (own != ALL)
		count_add(reuse, &reuse->sets[own], time, change);
}

static void place(struct reuse *reuse, uint32_t slot, size_t time)
{
	reuse->present[time / WORD] |= UINT64_C(1) << time % WORD;
	reuse->slot_at[time] = slot;
	reuse->slots[slot].time = time;
}

static void take_away(struct reuse *reuse, uint32_t slot)
{
	const size_t time = reuse->slots[slot].time;
	reuse->present[time / WORD] &= ~(UINT64_C(1) << time % WORD);
	count_line(reuse, slot, time, -1);
}

/* Lines of a set at times behind `time`. */
static uint64_t count_behind(const struct reuse *reuse, const struct line_set *set, size_t time)
{
	size_t n = __builtin_popcountll(set->present[time / WORD] << (WORD - 1 - time % WORD));
	for (size_t i = time / WORD; i > 0; i -= i & -i)
		n += set->counts[i];
	return (uint64_t)(set->n_lines - n) << reuse->halvings;
}

static void set_empty(struct line_set *set, size_t words)
{
	if (!set->n_lines)
		return;
	set->n_lines = 0;
	memset(set->present, 0, words * sizeof(*set->present));
	memset(set->counts, 0, (words + 1) * sizeof(*set->counts));
}

/* Moves the lines to the first times, in their order. */
static void move_together(struct reuse *reuse)
{
	const size_t words = reuse->n_times / WORD;
	size_t n = 0;
	for (unsigned s = 0; s < reuse->n_sets; s++)
		set_empty(&reuse->sets[s], words);
	for (size_t time = 0; time < reuse->time; time++) {
		uint32_t slot = reuse->slot_at[time];
		if (!(reuse->present[time / WORD] >> time % WORD & 1))
			continue;
		reuse->present[time / WORD] &= ~(UINT64_C(1) << time % WORD);
		place(reuse, slot, n);
		count_line(reuse, slot, n++, 1);
	}
	reuse->time = n;
}

/* ---- Thinning ---- */

static void drop(struct reuse *reuse, size_t time)
{
	uint32_t slot = reuse->slot_at[time];
	reuse->present[time / WORD] &= ~(UINT64_C(1) << time % WORD);
	reuse->free_slots[reuse->n_free++] = slot;
	if (reuse->dropped)
		reuse->dropped(reuse->context, slot);
}

/* Halves the lines.  False when memory is short; the lines that are left are then forgotten. */
static bool thin(struct reuse *reuse)
{
	bool complete = true;
	reuse->halvings++;
	u64_map_deinit(&reuse->slot_of);
	for (size_t time = 0; time < reuse->time; time++) {
		if (!(reuse->present[time / WORD] >> time % WORD & 1))
			continue;
		uint32_t slot = reuse->slot_at[time];
		if (is_chosen(reuse, reuse->slots[slot].line) &&
		    u64_map_set(&reuse->slot_of, reuse->slots[slot].line + 1, slot))
			continue;
		complete = complete && !is_chosen(reuse, reuse->slots[slot].line);
		drop(reuse, time);
	}
	move_together(reuse);
	return complete;
}

/* ---- Public ---- */

static bool set_create(const struct reuse *reuse, struct line_set *set)
{
	set->present = calloc(reuse->n_times / WORD, sizeof(*set->present));
	set->counts = calloc(reuse->n_times / WORD + 1, sizeof(*set->counts));
	return set->present && set->counts;
}

static void free_all_slots(struct reuse *reuse)
{
	for (reuse->n_free = 0; reuse->n_free < reuse->max_lines; reuse->n_free++)
		reuse->free_slots[reuse->n_free] = (uint32_t)(reuse->max_lines - 1 - reuse->n_free);
}

struct reuse *reuse_create(size_t max_lines, unsigned n_groups,
			   void (*dropped)(void *context, uint32_t slot), void *context)
{
	struct reuse *reuse = calloc(1, sizeof(*reuse));
	if (!reuse)
		return NULL;
	reuse->max_lines = max_lines;
	reuse->n_times = (max_lines * 4 + WORD - 1) / WORD * WORD;
	reuse->dropped = dropped;
	reuse->context = context;
	reuse->sets = calloc(1 + n_groups, sizeof(*reuse->sets));
	reuse->present = calloc(reuse->n_times / WORD, sizeof(*reuse->present));
	reuse->slot_at = calloc(reuse->n_times, sizeof(*reuse->slot_at));
	reuse->slots = calloc(max_lines, sizeof(*reuse->slots));
	reuse->free_slots = calloc(max_lines, sizeof(*reuse->free_slots));
	bool complete = reuse->sets && reuse->present && reuse->slot_at && reuse->slots &&
			reuse->free_slots;
	while (complete && reuse->n_sets < 1 + n_groups)
		complete = set_create(reuse, &reuse->sets[reuse->n_sets++]);
	if (!complete) {
		reuse_destroy(reuse);
		return NULL;
	}
	free_all_slots(reuse);
	return reuse;
}

void reuse_forget(struct reuse *reuse)
{
	const size_t words = reuse->n_times / WORD;
	for (unsigned s = 0; s < reuse->n_sets; s++)
		set_empty(&reuse->sets[s], words);
	memset(reuse->present, 0, words * sizeof(*reuse->present));
	u64_map_deinit(&reuse->slot_of);
	free_all_slots(reuse);
	reuse->time = 0;
}

void reuse_destroy(struct reuse *reuse)
{
	if (!reuse)
		return;
	for (unsigned s = 0; s < reuse->n_sets; s++) {
		free(reuse->sets[s].present);
		free(reuse->sets[s].counts);
	}
	free(reuse->sets);
	free(reuse->present);
	free(reuse->slot_at);
	free(reuse->slots);
	free(reuse->free_slots);
	u64_map_deinit(&reuse->slot_of);
	free(reuse);
}

/* Makes a slot for a line that is not followed yet; NO_SLOT: it will not be. */
static uint32_t slot_create(struct reuse *reuse, uint64_t line, unsigned own, bool counts)
{
	while (reuse->n_free == 0)
		if (!thin(reuse)) {
			reuse->n_lost++;
			return NO_SLOT;
		}
	if (!is_chosen(reuse, line))
		return NO_SLOT;
	uint32_t slot = reuse->free_slots[reuse->n_free - 1];
	if (!u64_map_set(&reuse->slot_of, line + 1, slot)) {
		reuse->n_lost++;
		return NO_SLOT;
	}
	reuse->n_free--;
	reuse->slots[slot].line = line;
	reuse->slots[slot].own = (uint8_t)own;
	reuse->slots[slot].is_in_all = counts;
	return slot;
}

struct reuse_distance reuse_age(const struct reuse *reuse, uint32_t slot)
{
	const size_t time = reuse->slots[slot].time;
	const uint64_t all = count_behind(reuse, &reuse->sets[ALL], time);
	const unsigned own = reuse->slots[slot].own;
	return (struct reuse_distance){all, own == ALL
						    ? all
						    : count_behind(reuse, &reuse->sets[own], time)};
}

uint32_t reuse_slot(const struct reuse *reuse, uint64_t line)
{
	const uint32_t *found =
		is_chosen(reuse, line) ? u64_map_find(&reuse->slot_of, line + 1) : NULL;
	return found ? *found : NO_SLOT;
}

static bool access_in(struct reuse *reuse, uint64_t line, unsigned own, bool counts,
		      struct reuse_use *use)
{
	if (!is_chosen(reuse, line))
		return false;
	uint32_t *found = u64_map_find(&reuse->slot_of, line + 1);
	use->first = !found;
	use->slot = found ? *found : slot_create(reuse, line, own, counts);
	if (use->slot == NO_SLOT)
		return false;
	use->distance = (struct reuse_distance){0};
	if (found) {
		use->distance = reuse_age(reuse, use->slot);
		take_away(reuse, use->slot);
	}
	if (reuse->time == reuse->n_times)
		move_together(reuse);
	place(reuse, use->slot, reuse->time);
	count_line(reuse, use->slot, reuse->time++, 1);
	return true;
}

bool reuse_access(struct reuse *reuse, uint64_t line, struct reuse_use *use)
{
	return access_in(reuse, line, ALL, true, use);
}

bool reuse_access_of(struct reuse *reuse, uint64_t line, unsigned group, bool counts,
		     struct reuse_use *use)
{
	assert(1 + group < reuse->n_sets);
	return access_in(reuse, line, 1 + group, counts, use);
}

uint64_t reuse_weight(const struct reuse *reuse)
{
	return UINT64_C(1) << reuse->halvings;
}

size_t reuse_max_lines(const struct reuse *reuse)
{
	return reuse->max_lines;
}

uint64_t reuse_lost(const struct reuse *reuse)
{
	return reuse->n_lost;
}
