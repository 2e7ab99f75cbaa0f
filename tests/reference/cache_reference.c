#include "tests/reference/cache_reference.h"

#include <stdlib.h>
#include <string.h>

#define BUFFERS 10 /* of a core for the lines that share sets */
#define ALL_BUFFERS (BUFFERS * CACHE_CLASSES * REFERENCE_CORES)

/* What a cache has of a line, and passes on.  A clean one is known everywhere behind. */
struct content {
	bool changed;     /* memory has not got it yet */
	uint32_t writer;  /* who changed it last */
	int known;        /* the farthest level that has seen this change */
	uint32_t fetcher; /* who fetched it, or changed it since */
};

/* One place of a cache. */
struct place {
	bool here;
	uint64_t line, used;
	struct content content;
	bool fresh; /* L1: came from memory for a store, not read and not yet written whole */
	bool written[CACHE_LINE_MOST];
	uint32_t allocator;
};

struct cache {
	struct cache_level level;
	struct place *places; /* set × ways + way */
	bool *right;          /* tree: set × ways + node: the right half goes next */
};

struct buffer {
	unsigned core;
	uint64_t line;
	uint32_t who;
	bool written[CACHE_LINE_MOST];
};

struct reference {
	struct geometry geometry;
	bool prefetch;
	int n_private;
	struct cache caches[CACHE_LEVELS][REFERENCE_CORES]; /* a shared one is that of core 0 */
	struct buffer buffers[ALL_BUFFERS];                 /* oldest first */
	unsigned n_buffers;
	hierarchy_note *note;
	hierarchy_through *through;
	void *context;
	uint64_t clock;
	uint32_t who; /* of the access at hand */
};

/* ---- Places ---- */

static struct cache *cache_of(struct reference *r, unsigned core, int level)
{
	return &r->caches[level][level < r->n_private ? core : 0];
}

static struct place *set_of(struct cache *cache, uint64_t line)
{
	return &cache->places[line % cache->level.sets * cache->level.ways];
}

static struct place *find(struct cache *cache, uint64_t line)
{
	struct place *set = set_of(cache, line);
	for (unsigned i = 0; i < cache->level.ways; i++)
		if (set[i].here && set[i].line == line)
			return &set[i];
	return NULL;
}

/* The tree below `node`, which stands for the ways from `first` on. */
static void tree_use(bool *right, unsigned node, unsigned first, unsigned n, unsigned way)
{
	if (n == 1)
		return;
	bool is_right = way >= first + n / 2;
	right[node] = !is_right;
	tree_use(right, 2 * node + is_right, is_right ? first + n / 2 : first, n / 2, way);
}

static unsigned tree_next(const bool *right, unsigned node, unsigned first, unsigned n)
{
	if (n == 1)
		return first;
	return right[node] ? tree_next(right, 2 * node + 1, first + n / 2, n / 2)
			   : tree_next(right, 2 * node, first, n / 2);
}

static void use(struct reference *r, struct cache *cache, struct place *place)
{
	unsigned ways = cache->level.ways, number = place - cache->places;
	place->used = ++r->clock;
	tree_use(&cache->right[number / ways * ways], 1, 0, ways, number % ways);
}

static struct place *next_victim(struct cache *cache, uint64_t line)
{
	struct place *set = set_of(cache, line), *oldest = set;
	unsigned ways = cache->level.ways;
	for (unsigned i = 0; i < ways; i++)
		if (!set[i].here)
			return &set[i];
	if (cache->level.replacement == CACHE_TREE_PLRU)
		return &set[tree_next(&cache->right[set - cache->places], 1, 0, ways)];
	for (unsigned i = 0; i < ways; i++)
		if (set[i].used < oldest->used)
			oldest = &set[i];
	return oldest;
}

/* ---- Events ---- */

enum { READ, WRITE_ALLOCATE };

static void crossed(struct reference *r, int border, int what, uint32_t who, uint64_t line)
{
	enum traffic first = border == r->geometry.n_levels ? TRAFFIC_MEM_READ
			     : border == 1                  ? TRAFFIC_L2_READ
							    : TRAFFIC_L3_READ;
	r->note(r->context, first + what, who, line); /* the write-allocate is next to the read */
}

/* A level that has seen the change gets nothing new: a clean victim.  One that has not is told: a
 * write-back. */
static void went_down(struct reference *r, int from, int to, struct content *content, uint64_t line)
{
	static const enum traffic write_backs[] = {N_TRAFFIC, TRAFFIC_L2_WRITE_BACK,
						   TRAFFIC_L3_WRITE_BACK};
	for (int border = from + 1; border <= to; border++) {
		bool memory = border == r->geometry.n_levels,
		     new = content->changed &&border > content->known;
		if (new)
			r->note(r->context, memory ? TRAFFIC_MEM_WRITE_BACK : write_backs[border],
				content->writer, line);
		else if (border == 2 && !memory)
			r->note(r->context, TRAFFIC_L3_CLEAN_VICTIM, content->fetcher, line);
		if (content->changed && border >= content->known) {
			content->known = border;
			content->fetcher = content->writer;
		}
	}
}

/* Of a line that is about to be used: with one more in its set it would not have been there. */
static void tell_open(struct reference *r, struct cache *cache, int level,
		      const struct place *place)
{
	static const enum traffic reads[] = {TRAFFIC_L2_READ_OPEN, TRAFFIC_L3_READ_OPEN};
	static const enum traffic writes[] = {TRAFFIC_L2_WRITE_OPEN, TRAFFIC_L3_WRITE_OPEN};
	const bool memory = level + 1 == r->geometry.n_levels;
	if (next_victim(cache, place->line) != place)
		return;
	r->note(r->context, memory ? TRAFFIC_MEM_READ_OPEN : reads[level], r->who, place->line);
	if (place->content.changed && place->content.known <= level)
		r->note(r->context, memory ? TRAFFIC_MEM_WRITE_OPEN : writes[level],
			place->content.writer, place->line);
}

/* ---- Lines leave ---- */

static void receive(struct reference *r, unsigned core, int level, uint64_t line,
		    struct content content);

/* The copy of a line that was changed last: the nearest to a core; NULL: none is changed. */
static struct place *newest(struct reference *r, uint64_t line, int below, int *level)
{
	for (*level = 0; *level < below; ++*level)
		for (unsigned core = 0; core < REFERENCE_CORES; core++) {
			struct place *place = find(cache_of(r, core, *level), line);
			if (place && place->content.changed)
				return place;
		}
	return NULL;
}

static void evict(struct reference *r, unsigned core, int level, struct place old)
{
	int n = r->geometry.n_levels;
	if (level > 0 && r->geometry.levels[level].inclusion == CACHE_INCLUSIVE) {
		/* The levels above lose it: of this core, or of all when this level is theirs in
		 * common. */
		int from = -1;
		for (int above = level - 1; above >= 0; above--)
			for (unsigned c = 0; c < REFERENCE_CORES; c++) {
				if (level < r->n_private && c != core)
					continue;
				struct place *copy = find(cache_of(r, c, above), old.line);
				if (copy && copy->content.changed) {
					old.content = copy->content;
					from = above;
				}
				if (copy)
					copy->here = false;
			}
		if (from >= 0)
			went_down(r, from, level, &old.content, old.line);
	}
	bool to_victim = level + 1 < n && r->geometry.levels[level + 1].inclusion == CACHE_VICTIM;
	if (!old.content.changed && !to_victim)
		return;
	went_down(r, level, level + 1, &old.content, old.line);
	if (level + 1 < n)
		receive(r, core, level + 1, old.line, old.content);
}

static void add(struct reference *r, unsigned core, int level, uint64_t line,
		struct content content)
{
	struct cache *cache = cache_of(r, core, level);
	struct place *place = next_victim(cache, line), old = *place;
	*place = (struct place){.here = true, .line = line, .content = content};
	use(r, cache, place);
	if (old.here)
		evict(r, core, level, old);
}

/* The level above has evicted a line. */
static void receive(struct reference *r, unsigned core, int level, uint64_t line,
		    struct content content)
{
	struct place *place = find(cache_of(r, core, level), line);
	if (!place) {
		add(r, core, level, line, content);
		return;
	}
	use(r, cache_of(r, core, level), place);
	if (content.changed)
		place->content = content;
}

/* ---- Other cores ---- */

static bool has(struct reference *r, unsigned core, uint64_t line)
{
	for (int level = 0; level < r->n_private; level++)
		if (find(cache_of(r, core, level), line))
			return true;
	return false;
}

/* What others have changed goes to the first level in common; for a store they lose the line. */
static bool ask_others(struct reference *r, unsigned core, uint64_t line, bool store)
{
	bool any = false;
	for (unsigned other = 0; other < REFERENCE_CORES; other++) {
		int from = -1;
		struct content newest = {0};
		if (other == core || !has(r, other, line))
			continue;
		any = true;
		for (int level = r->n_private - 1; level >= 0; level--) {
			struct place *place = find(cache_of(r, other, level), line);
			if (place && place->content.changed) {
				from = level;
				newest = place->content;
			}
			if (place) {
				place->content.changed = place->fresh = false;
				place->here = !store;
			}
		}
		if (from < 0)
			continue;
		went_down(r, from, r->n_private, &newest, line);
		if (r->n_private < r->geometry.n_levels)
			receive(r, other, r->n_private, line, newest);
	}
	return any;
}

/* ---- Loads and stores ---- */

/* Brings a line to the levels down to `to`, from behind: each border that it crosses is counted.
 * Returns whether it came from memory. */
static bool bring(struct reference *r, unsigned core, int to, uint64_t line, int what, bool others,
		  bool store)
{
	int n = r->geometry.n_levels, from = to + 1;
	while (from < n && !find(cache_of(r, core, from), line))
		from++;
	bool others_supply = from == n && others && r->n_private < n;
	for (int border = to + 1; border <= from; border++)
		if (border < n || !others_supply)
			crossed(r, border, what, r->who, line);
	struct content content = {.fetcher = r->who};
	if (from < n) {
		struct place *place = find(cache_of(r, core, from), line);
		tell_open(r, cache_of(r, core, from), from, place);
		if (r->geometry.levels[from].inclusion == CACHE_VICTIM && (store || !others)) {
			content = place->content;
			content.fetcher = r->who;
			place->here = false;
		} else {
			use(r, cache_of(r, core, from), place);
		}
	}
	for (int level = from - 1; level >= to; level--)
		if (level == to || r->geometry.levels[level].inclusion != CACHE_VICTIM) {
			add(r, core, level, line, content);
			content.changed = false;
		}
	return from == n && !others_supply;
}

static void prefetch(struct reference *r, unsigned core, uint64_t line, int what)
{
	int to = r->geometry.n_levels > 1 && r->geometry.levels[1].inclusion != CACHE_VICTIM;
	for (unsigned c = 0; c < REFERENCE_CORES; c++)
		if (has(r, c, line))
			return;
	for (int level = 0; level <= to; level++)
		if (find(cache_of(r, core, level), line))
			return;
	bring(r, core, to, line, what, false, false);
}

static void write_bytes(struct reference *r, struct place *place, unsigned first, unsigned n)
{
	for (unsigned i = first; i < first + n; i++)
		place->written[i] = true;
	for (unsigned i = 0; i < r->geometry.line; i++)
		if (!place->written[i])
			return;
	if (place->fresh)
		r->note(r->context, TRAFFIC_MEM_EVADABLE, place->allocator, place->line);
	place->fresh = false;
}

static void read_bytes(struct place *place, unsigned first, unsigned n)
{
	for (unsigned i = first; i < first + n; i++)
		if (!place->written[i])
			place->fresh = false;
}

/* How far away the line was: 0: in L1. */
static int distance(struct reference *r, unsigned core, uint64_t line)
{
	int level = 0;
	while (level < r->geometry.n_levels && !find(cache_of(r, core, level), line))
		level++;
	return level;
}

/* Of an L1 that writes through: the store is done in L2, and L1 has the same line, if it has it. */
static void store_through(struct reference *r, unsigned core, uint64_t line, unsigned n)
{
	const bool here = has(r, core, line), others = ask_others(r, core, line, true);
	const int far = distance(r, core, line);
	const int to = far == 0 || r->geometry.no_write_allocate ? 1 : 0;
	struct place *place = find(cache_of(r, core, 0), line);
	if (r->through)
		r->through(r->context, r->who, line, n);
	if (place) {
		tell_open(r, cache_of(r, core, 0), 0, place);
		use(r, cache_of(r, core, 0), place);
	}
	place = find(cache_of(r, core, 1), line);
	if (far > to && !(place && to == 1)) {
		bring(r, core, to, line, WRITE_ALLOCATE, others && !here, true);
	} else {
		tell_open(r, cache_of(r, core, 1), 1, place);
		use(r, cache_of(r, core, 1), place);
	}
	place = find(cache_of(r, core, 1), line);
	place->content = (struct content){true, r->who, 1, r->who};
	if (r->prefetch && far > 1)
		prefetch(r, core, line % 2 ? line - 1 : line + 1, WRITE_ALLOCATE);
}

static void load_or_store(struct reference *r, unsigned core, uint64_t line, bool store,
			  unsigned first, unsigned n)
{
	bool here = has(r, core, line), others = false;
	if (store || !here)
		others = ask_others(r, core, line, store);
	int far = distance(r, core, line), what = store ? WRITE_ALLOCATE : READ;
	bool from_memory = far > 0 && bring(r, core, 0, line, what, others && !here, store);
	struct place *place = find(cache_of(r, core, 0), line);
	if (far == 0) {
		tell_open(r, cache_of(r, core, 0), 0, place);
		use(r, cache_of(r, core, 0), place);
	}
	if (store) {
		place->content = (struct content){true, r->who, 0, r->who};
		if (from_memory) {
			place->fresh = true;
			place->allocator = r->who;
		}
		write_bytes(r, place, first, n);
	} else {
		read_bytes(place, first, n);
	}
	int to = r->geometry.n_levels > 1 && r->geometry.levels[1].inclusion != CACHE_VICTIM;
	if (r->prefetch && far > to)
		prefetch(r, core, line % 2 ? line - 1 : line + 1, what);
}

/* ---- Past the caches ---- */

static void flush(struct reference *r, uint64_t line, bool remove)
{
	int level;
	struct place *place = newest(r, line, r->geometry.n_levels, &level);
	struct content content = place ? place->content : (struct content){0};
	if (place)
		went_down(r, level, r->geometry.n_levels, &content, line);
	for (level = 0; level < r->geometry.n_levels; level++)
		for (unsigned core = 0; core < REFERENCE_CORES; core++) {
			place = find(cache_of(r, core, level), line);
			if (place) {
				place->content.changed = place->fresh = false;
				place->here = !remove;
			}
		}
}

static void write_out(struct reference *r, unsigned i)
{
	struct buffer buffer = r->buffers[i];
	r->n_buffers--;
	memmove(&r->buffers[i], &r->buffers[i + 1], (r->n_buffers - i) * sizeof(buffer));
	r->note(r->context, TRAFFIC_MEM_NON_TEMPORAL, buffer.who, buffer.line);
}

static void write_out_line(struct reference *r, uint64_t line, int but_core)
{
	for (unsigned i = r->n_buffers; i-- > 0;)
		if (r->buffers[i].line == line && (int)r->buffers[i].core != but_core)
			write_out(r, i);
}

/* Finds or makes the buffer of a core for a line. */
static struct buffer *buffer_for(struct reference *r, unsigned core, uint64_t line)
{
	unsigned groups = geometry_class_groups(&r->geometry), n = 0;
	int oldest = -1;
	for (unsigned i = 0; i < r->n_buffers; i++) {
		struct buffer *buffer = &r->buffers[i];
		if (buffer->core != core || buffer->line % groups != line % groups)
			continue;
		if (buffer->line == line)
			return buffer;
		n++;
		if (oldest < 0)
			oldest = i;
	}
	flush(r, line, true);
	if (n == BUFFERS)
		write_out(r, oldest);
	struct buffer *buffer = &r->buffers[r->n_buffers++];
	*buffer = (struct buffer){.core = core, .line = line};
	return buffer;
}

static void non_temporal(struct reference *r, unsigned core, uint64_t line, unsigned first,
			 unsigned n)
{
	write_out_line(r, line, core);
	struct buffer *buffer = buffer_for(r, core, line);
	buffer->who = r->who;
	for (unsigned i = first; i < first + n; i++)
		buffer->written[i] = true;
	for (unsigned i = 0; i < r->geometry.line; i++)
		if (!buffer->written[i])
			return;
	write_out(r, buffer - r->buffers);
}

/* ---- Public ---- */

struct reference *reference_create(const struct geometry *geometry, bool next_line_prefetch,
				   hierarchy_note *note, void *context)
{
	struct reference *r = calloc(1, sizeof(*r));
	*r = (struct reference){.geometry = *geometry,
				.prefetch = next_line_prefetch,
				.note = note,
				.context = context};
	for (int i = 0; i < geometry->n_levels; i++) {
		const struct cache_level *level = &geometry->levels[i];
		r->n_private += !level->shared;
		for (unsigned core = 0; core < (level->shared ? 1 : REFERENCE_CORES); core++) {
			struct cache *cache = &r->caches[i][core];
			cache->level = *level;
			cache->places =
				calloc((size_t)level->sets * level->ways, sizeof(*cache->places));
			cache->right =
				calloc((size_t)level->sets * level->ways, sizeof(*cache->right));
		}
	}
	return r;
}

void reference_tell_through(struct reference *r, hierarchy_through *through)
{
	r->through = through;
}

void reference_destroy(struct reference *r)
{
	for (int i = 0; i < CACHE_LEVELS; i++)
		for (unsigned core = 0; core < REFERENCE_CORES; core++) {
			free(r->caches[i][core].places);
			free(r->caches[i][core].right);
		}
	free(r);
}

void reference_access(struct reference *r, unsigned core, uint64_t line, enum cache_access kind,
		      unsigned first_byte, unsigned n_bytes, uint32_t who)
{
	r->who = who;
	if (kind == CACHE_NON_TEMPORAL) {
		non_temporal(r, core, line, first_byte, n_bytes);
		return;
	}
	if (kind == CACHE_LINE_ZERO) {
		non_temporal(r, core, line, 0, r->geometry.line);
		return;
	}
	write_out_line(r, line, -1);
	if (kind == CACHE_STORE && r->geometry.write_through)
		store_through(r, core, line, n_bytes);
	else if (kind == CACHE_LOAD || kind == CACHE_STORE)
		load_or_store(r, core, line, kind == CACHE_STORE, first_byte, n_bytes);
	else
		flush(r, line, kind == CACHE_FLUSH);
}

void reference_finish(struct reference *r)
{
	while (r->n_buffers)
		write_out(r, 0);
	for (int level = 0; level < r->geometry.n_levels; level++)
		for (unsigned core = 0; core < REFERENCE_CORES; core++) {
			struct cache *cache = cache_of(r, core, level);
			for (size_t i = 0; i < (size_t)cache->level.sets * cache->level.ways; i++) {
				struct place *place = &cache->places[i];
				int where;
				if (!place->here || !place->content.changed)
					continue;
				struct place *last =
					newest(r, place->line, r->geometry.n_levels, &where);
				uint32_t who = last->content.writer;
				uint64_t line = place->line;
				for (where = 0; where < r->geometry.n_levels; where++)
					for (unsigned c = 0; c < REFERENCE_CORES; c++) {
						struct place *copy =
							find(cache_of(r, c, where), line);
						if (copy)
							copy->content.changed = copy->fresh = false;
					}
				r->note(r->context, TRAFFIC_MEM_LEFT, who, line);
			}
		}
}
