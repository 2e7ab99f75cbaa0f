/* Lines on their way between the levels: down as victims and write-backs, in for loads and stores,
 * and out of other cores.
 *
 * Each move notes its events (traffic.h).  Inclusion is here: what leaves an inclusive level leaves
 * those above it, and a victim level takes what the level above replaces. */
#pragma once

#include "base/assert.h"
#include "cache/levels.h"

/* ---- events ---- */

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

static inline void lines_note(struct hierarchy *h, enum traffic event, uint32_t who, uint32_t line)
{
	h->note(h->context, event, who, regions_line(&h->regions, line, h->group));
}

/* Of the line of the access at hand, for who makes it. */
static inline void lines_note_here(struct hierarchy *h, enum traffic event)
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
		lines_note(h, line->changed ? changed : TRAFFIC_L3_CLEAN_VICTIM, line->who,
			   line->line);
	bool due = !line->changed && line->debt.level == (uint32_t)to;
	line->who = due ? line->debt.writer : line->who;
	line->changed = line->changed || due;
	line->debt.level = line->changed ? 0 : line->debt.level;
}

/* The same through all levels from `from` to `to`. */
void lines_go_down(struct hierarchy *h, struct moving *line, int from, int to);

/* ---- lines leave ---- */

static inline void lines_remove(struct hierarchy *h, int at, void *set, int way)
{
	if (at < h->n_private)
		presence_remove(&h->presence, h->slot, set_lines(set)[way]);
	set_remove(&h->levels[at].shape, set, way);
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

/* Takes a line out of all levels above `to`, of all cores, or only its changes and debts.  Returns
 * the innermost level in which it had any, with the line in *found, or −1. */
int lines_withdraw_all(struct hierarchy *h, int to, uint32_t line, bool remove,
		       struct moving *found);

/* A line has left an inclusive level, and so leaves those above; their changes go down. */
void lines_back_invalidate(struct hierarchy *h, struct core *core, int at, struct moving *line);

/* ---- lines come in ---- */

/* Puts a line into a set in the place of another, without its state. */
static ALWAYS_INLINE struct moving replace(struct hierarchy *h, struct build b, int at, void *set,
					   uint32_t line, unsigned *way)
{
	const struct set_shape *shape = &h->levels[at].shape;
	*way = b.small ? lru_replace(&((struct set_header *)set)->order, shape->ways)
		       : set_replace(shape, set);
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
		lines_back_invalidate(h, core, at, victim);
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

/* Puts a line that is not there into a set of a level.  Returns the way. */
static ALWAYS_INLINE unsigned insert(struct hierarchy *h, struct build b, struct core *core, int at,
				     void *set, struct moving in)
{
	rf_assert_dear(set_find(&h->levels[at].shape, set, in.line) < 0);
	unsigned way;
	struct moving out = replace(h, b, at, set, in.line, &way);
	set_state(h, b, at, set, way, &in);
	if (out.line)
		put_with(h, b, core, victim_goes(h, b, core, at, &out), out);
	return way;
}

/* ---- other cores ---- */

/* Before a core reads or writes a line: what others have changed, or owe, moves to the first shared
 * level (without one, to memory); before a write the others lose it.  Returns whether any other had
 * it. */
bool lines_snoop(struct hierarchy *h, const struct core *me, uint32_t line, bool write);

/* Whether any core has a line in its private levels. */
bool lines_any_has(struct hierarchy *h, uint32_t line);
