/* The simulated hierarchy as others see it: made, accessed, finished.  How its parts work is in
 * levels, lines, load_store and write_combining. */
#include "cache/hierarchy.h"

#include "cache/lines.h"
#include "cache/load_store.h"
#include "cache/touched_pages.h"
#include "cache/write_combining.h"

#include <assert.h>
#include <stdlib.h>

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

struct hierarchy *hierarchy_create(const struct geometry *geometry, unsigned n_cores,
				   uint64_t classes, bool next_line_prefetch,
				   hierarchy_note *note_event, void *context)
{
	struct hierarchy *h = calloc(1, sizeof(*h));
	if (!h)
		return NULL;
	h->n_levels = geometry->n_levels;
	h->line_bytes = geometry->line;
	h->write_through = geometry->write_through;
	h->no_write_allocate = geometry->no_write_allocate;
	h->groups = geometry_class_groups(geometry);
	h->classes = geometry_classes(geometry, classes, next_line_prefetch);
	h->prefetch_into = next_line_prefetch ? prefetch_level(geometry) : -1;
	h->note = note_event;
	h->context = context;
	slots_init(h, h->classes);
	regions_init(&h->regions, geometry, h->groups);
	bool complete =
		levels_create(h, geometry) && (n_cores == 0 || levels_add_core(h, n_cores - 1));
	load_store_choose(h);
	if (complete)
		return h;
	hierarchy_destroy(h);
	return NULL;
}

void hierarchy_destroy(struct hierarchy *h)
{
	if (!h)
		return;
	levels_destroy(h);
	regions_deinit(&h->regions);
	free(h);
}

void hierarchy_tell_open(struct hierarchy *h)
{
	h->tell_open = true;
}

void hierarchy_tell_through(struct hierarchy *h, hierarchy_through *through)
{
	h->through = through;
}

uint64_t hierarchy_classes(const struct hierarchy *h)
{
	return h->classes;
}

uint64_t hierarchy_taken(const struct hierarchy *h)
{
	return h->n_taken;
}

uint64_t hierarchy_lost(const struct hierarchy *h)
{
	return h->n_lost;
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
	assert(who != UINT32_MAX);
	h->slot = slot;
	h->group = line & (h->groups - 1);
	h->who = who;
	h->line = line;
	h->first = kind == CACHE_LINE_ZERO ? 0 : first_byte;
	h->n = kind == CACHE_LINE_ZERO ? h->line_bytes : n_bytes;
	if (kind == CACHE_NON_TEMPORAL || kind == CACHE_LINE_ZERO) {
		combining_store(h, core, compact);
		return;
	}
	if (h->n_combining)
		combining_write_out(h, NULL, compact);
	if (kind == CACHE_LOAD || kind == CACHE_STORE)
		h->load_or_store(h, core, compact, kind == CACHE_STORE,
				 line_bytes(first_byte, n_bytes));
	else
		combining_flush_line(h, compact, kind == CACHE_FLUSH);
}

/* ---- the end ---- */

/* Notes the lines of a set that are changed or owed, each once for all its copies. */
static void finish_set(struct hierarchy *h, char *set, int at)
{
	for (unsigned way = 0; way < h->levels[at].shape.ways; way++) {
		struct moving line = line_at(h, (struct build){0}, at, set, way), found;
		if (!line.line || !(line.changed || line.debt.level))
			continue;
		if (lines_withdraw_all(h, h->n_levels, line.line, false, &found) >= 0)
			lines_note(h, TRAFFIC_MEM_LEFT,
				   found.changed ? found.who : found.debt.writer, line.line);
	}
}

/* All sets of a level: of a large cache a short program has touched few. */
static void finish_sets(struct hierarchy *h, struct touched_pages *pages, char *sets, int at)
{
	const struct level *level = &h->levels[at];
	const size_t bytes = level->shape.bytes;
	char *set = sets + (size_t)h->slot * level->sets * bytes;
	for (size_t i = 0, untouched; i < level->sets; i += untouched ? untouched : 1) {
		untouched = touched_pages_gap(pages, set + i * bytes, (level->sets - i) * bytes) /
			    bytes;
		if (!untouched)
			finish_set(h, set + i * bytes, at);
	}
}

static void finish_group(struct hierarchy *h, struct touched_pages *pages)
{
	combining_finish(h);
	for (int at = 0; at < h->n_levels; at++) {
		if (at >= h->n_private)
			finish_sets(h, pages, h->common.sets[at], at);
		for (size_t i = 0; at < h->n_private && i < h->n_cores; i++)
			if (h->cores[i])
				finish_sets(h, pages, h->cores[i]->sets[at], at);
	}
}

void hierarchy_finish(struct hierarchy *h)
{
	struct touched_pages pages;
	touched_pages_init(&pages);
	for (h->group = 0; h->group < h->groups; h->group++) {
		int slot = h->slots[h->group];
		if (slot == NO_SLOT)
			continue;
		h->slot = slot;
		finish_group(h, &pages);
	}
	touched_pages_deinit(&pages);
}

void hierarchy_empty(struct hierarchy *h)
{
	hierarchy_finish(h);
	levels_empty(h);
}
