/* Takes lines out of levels and cores, with what is changed or owed of them.  These are the moves
 * that loads and stores seldom need; the frequent ones are in the header. */
#include "cache/lines.h"

void lines_go_down(struct hierarchy *h, struct moving *line, int from, int to)
{
	for (int at = from + 1; at <= to; at++)
		go_down(h, h->n_levels, line, at);
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
		if (at == 0) {
			fresh_end(h, core, line, way);
			h->n_taken += remove;
		}
		if (remove)
			lines_remove(h, at, set, way);
		else
			set_clean(set, way);
	}
	return innermost;
}

int lines_withdraw_all(struct hierarchy *h, int to, uint32_t line, bool remove,
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

void lines_back_invalidate(struct hierarchy *h, struct core *core, int at, struct moving *line)
{
	bool present = false;
	struct moving above;
	int from = at < h->n_private ? withdraw(h, core, 0, at, line->line, true, &above, &present)
				     : lines_withdraw_all(h, at, line->line, true, &above);
	if (from < 0)
		return;
	lines_go_down(h, &above, from, at);
	*line = above;
}

/* put_with(), compiled for any hierarchy. */
static void put(struct hierarchy *h, struct core *core, int at, struct moving line)
{
	put_with(h, build_of(h), core, at, line);
}

bool lines_snoop(struct hierarchy *h, const struct core *me, uint32_t line, bool write)
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
		lines_go_down(h, &found, from, h->n_private);
		if (h->n_private < h->n_levels)
			put(h, other, h->n_private, found);
	}
	return present;
}

bool lines_any_has(struct hierarchy *h, uint32_t line)
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
