/* A table of the lines that threads touched last, in sets of a few places each, and who touched
 * them. */
#include "tracer/traffic/sharing.h"

#include "base/array.h"
#include "cache/lines.h"

#include <assert.h>
#include <math.h>

#define WAYS 8
#define SETS (SHARING_LINES / WAYS)
#define REFRESH_FROM 16 /* accesses: a line that was asked about is asked about again */

struct space_threads {
	uint32_t alive;
	bool is_watched;
};

/* What is needed to find a line, or a place for one: all else of lines lies apart. */
struct set {
	uint64_t keys[WAYS];  /* 0: none there */
	uint32_t times[WAYS]; /* when they were touched last */
	uint32_t shared;      /* bit i: line i is shared */
};

struct sharing {
	sharing_locate *locate;
	void *context;
	struct set *sets;
	struct watched_line (*lines)[WAYS];
	uint32_t time; /* a count of accesses; when it begins again some lines seem old */
	size_t n_touchers;
	struct seen_executions *seen; /* by account */
	size_t n_seen;
	struct space_threads *spaces;
	size_t n_spaces;
	struct sharing_thread *threads;
	size_t n_threads, cap_threads;
	uint64_t n_lost;
};

struct sharing *sharing_create(sharing_locate *locate, void *context)
{
	struct sharing *sharing = calloc(1, sizeof(*sharing));
	if (sharing) {
		sharing->locate = locate;
		sharing->context = context;
	}
	return sharing;
}

void sharing_destroy(struct sharing *sharing)
{
	if (!sharing)
		return;
	for (size_t i = 0; sharing->lines && i < SHARING_LINES; i++)
		free(sharing->lines[i / WAYS][i % WAYS].touchers);
	free(sharing->sets);
	free(sharing->lines);
	free(sharing->seen);
	free(sharing->spaces);
	free(sharing->threads);
	free(sharing);
}

/* ---- threads ---- */

/* The table is made when the first address space has two threads. */
static void watch(struct sharing *sharing, struct space_threads *space)
{
	if (!sharing->sets)
		sharing->sets = calloc(SETS, sizeof(*sharing->sets));
	if (!sharing->lines)
		sharing->lines = calloc(SETS, sizeof(*sharing->lines));
	space->is_watched = sharing->sets && sharing->lines;
	sharing->n_lost += !space->is_watched;
}

void sharing_thread_begins(struct sharing *sharing, uint32_t space, uint32_t thread, uint64_t stamp)
{
	const struct sharing_thread new = {space, thread, stamp, UINT64_MAX};
	if (!rf_array_push(sharing->threads, sharing->n_threads, sharing->cap_threads, new) ||
	    !rf_array_reach((void **)&sharing->spaces, &sharing->n_spaces, space,
			    sizeof(*sharing->spaces))) {
		sharing->n_lost++;
		return;
	}
	if (++sharing->spaces[space].alive > 1 && !sharing->spaces[space].is_watched)
		watch(sharing, &sharing->spaces[space]);
}

void sharing_thread_ends(struct sharing *sharing, uint32_t thread, uint64_t stamp)
{
	for (size_t i = sharing->n_threads; i-- > 0;) {
		struct sharing_thread *known = &sharing->threads[i];
		if (known->thread != thread || known->to != UINT64_MAX)
			continue;
		known->to = stamp;
		if (known->space < sharing->n_spaces && sharing->spaces[known->space].alive)
			sharing->spaces[known->space].alive--;
		return;
	}
}

bool sharing_watches(const struct sharing *sharing, uint32_t space)
{
	return space < sharing->n_spaces && sharing->spaces[space].is_watched;
}

/* ---- executions ---- */

void sharing_execution(struct sharing *sharing, const struct sharing_chunk *chunk, uint32_t who,
		       unsigned n_operands)
{
	if (!sharing_watches(sharing, chunk->space))
		return;
	if (!rf_array_reach((void **)&sharing->seen, &sharing->n_seen, who,
			    sizeof(*sharing->seen))) {
		sharing->n_lost++;
		return;
	}
	struct seen_executions *seen = &sharing->seen[who];
	seen->bursts += !seen->executions || seen->burst != chunk->burst;
	seen->burst = chunk->burst;
	seen->n_operands = n_operands;
	seen->executions++;
}

/* ---- lines ---- */

static void forget(struct sharing *sharing, struct watched_line *line)
{
	struct toucher *touchers = line->touchers; /* the next line uses them */
	const uint32_t cap = line->cap;
	sharing->n_touchers -= line->n;
	*line = (struct watched_line){.touchers = touchers, .cap = cap};
}

/* A place for a line that is not in its set: one that is free, or else that of the line of one
 * thread alone that was touched least lately; or -1. */
static int place_for(const struct set *set, uint32_t now)
{
	int found = -1;
	for (int i = 0; i < WAYS; i++) {
		if (!set->keys[i])
			return i;
		if (!(set->shared >> i & 1) &&
		    (found < 0 || now - set->times[i] > now - set->times[found]))
			found = i;
	}
	return found;
}

/* The line, from now on watched if it was not; NULL: there is no room. */
static struct watched_line *line_of(struct sharing *sharing, uint32_t space, uint64_t number)
{
	const uint64_t key = (number << 13 ^ space) + 1;
	const size_t at = (key * 0x9e3779b97f4a7c15u >> 32) % SETS;
	struct set *set = &sharing->sets[at];
	const uint32_t now = ++sharing->time;
	int i = 0;
	while (i < WAYS && set->keys[i] != key)
		i++;
	if (i == WAYS) {
		i = place_for(set, now);
		if (i < 0)
			return NULL;
		forget(sharing, &sharing->lines[at][i]);
		sharing->lines[at][i].line = number;
		sharing->lines[at][i].space = space;
		set->keys[i] = key;
	}
	set->times[i] = now;
	return &sharing->lines[at][i];
}

/* It stays. */
static void keep(struct sharing *sharing, const struct watched_line *line)
{
	const size_t at = (size_t)(line - sharing->lines[0]);
	sharing->sets[at / WAYS].shared |= 1u << at % WAYS;
}

static struct toucher *toucher_of(struct sharing *sharing, struct watched_line *line, uint32_t who,
				  uint32_t thread)
{
	const struct toucher *last = line->n ? &line->touchers[line->last] : NULL;
	if (last && last->who == who && last->thread == thread)
		return &line->touchers[line->last];
	for (line->last = 0; line->last < line->n; line->last++) {
		struct toucher *toucher = &line->touchers[line->last];
		if (toucher->who == who && toucher->thread == thread)
			return toucher;
	}
	line->last = 0;
	if (line->n == SHARING_TOUCHERS || sharing->n_touchers == SHARING_TOUCHERS_OF_ALL)
		return NULL;
	if (line->n == line->cap) {
		const uint32_t cap = line->cap ? 2 * line->cap : 1;
		struct toucher *grown = realloc(line->touchers, cap * sizeof(*grown));
		if (!grown)
			return NULL;
		line->touchers = grown;
		line->cap = cap;
	}
	line->touchers[line->n] =
		(struct toucher){.who = who, .thread = thread, .place = {.object = PROFILE_NONE}};
	sharing->n_touchers++;
	line->last = line->n++;
	return &line->touchers[line->last];
}

static void locate(const struct sharing *sharing, const struct watched_line *line,
		   struct toucher *toucher)
{
	const uint64_t bytes = toucher->loaded | toucher->stored;
	const unsigned first = (unsigned)__builtin_ctzll(bytes);
	toucher->place =
		sharing->locate(sharing->context, line->space, line->line * CACHE_LINE + first);
}

/* Whose data the line is is asked when it turns out to be shared, and then each time that its
 * accesses have doubled. */
static void find_places(struct sharing *sharing, struct watched_line *line, struct toucher *toucher)
{
	const bool is_new = !line->is_shared;
	const bool is_due =
		line->accesses >= REFRESH_FROM && !(line->accesses & (line->accesses - 1));
	if (!line->has_threads || !line->is_stored)
		return;
	line->is_shared = true;
	keep(sharing, line);
	if (is_new || is_due)
		for (uint32_t i = 0; i < line->n; i++)
			locate(sharing, line, &line->touchers[i]);
	else if (toucher->loads + toucher->stores - toucher->both == 1)
		locate(sharing, line, toucher);
}

/* The chunks that touched the line are played in the order of their ends.  Of two that do not
 * overlap, the first by a thread that stored to the line, the second by another thread, the line
 * has gone over to the second one at some time between the store and the access. */
static void take_turn(struct watched_line *line, const struct sharing_chunk *chunk, bool stores)
{
	const bool is_own = line->holder.is_known && line->holder.thread == chunk->thread;
	if (is_own && (line->holder.stores || !stores))
		return;
	if (line->holder.is_known && !is_own) {
		if (chunk->from < line->holder.to || (!line->holder.stores && !stores))
			return;
		line->turns += line->holder.stores;
	}
	line->holder.is_known = true;
	line->holder.thread = chunk->thread;
	line->holder.to = chunk->to;
	line->holder.stores = stores;
}

/* A burst touches the line, or goes on to, when others have been there meanwhile. */
static void take_visit(struct watched_line *line, struct toucher *toucher,
		       const struct sharing_chunk *chunk)
{
	if (!line->visits || line->burst != chunk->burst || line->visitor != chunk->thread) {
		const bool changes = line->visits && line->visitor != chunk->thread;
		line->changes += changes;
		line->singles += changes && line->changed;
		line->changed = changes;
		line->visits++;
		line->burst = chunk->burst;
		line->visitor = chunk->thread;
	}
	toucher->visits += toucher->visit != line->visits;
	toucher->visit = line->visits;
}

/* An access to the bytes of one line. */
static void note_line(struct sharing *sharing, const struct sharing_chunk *chunk,
		      const struct sharing_access *access, uint64_t number, uint64_t bytes)
{
	struct watched_line *line = line_of(sharing, chunk->space, number);
	struct toucher *toucher =
		line ? toucher_of(sharing, line, access->who, chunk->thread) : NULL;
	if (!toucher) {
		sharing->n_lost++;
		return;
	}
	line->accesses++;
	line->has_threads |= line->touchers[0].thread != chunk->thread;
	line->is_stored |= access->stores;
	toucher->loads += access->loads;
	toucher->stores += access->stores;
	toucher->both += access->loads && access->stores;
	toucher->loaded |= access->loads ? bytes : 0;
	toucher->stored |= access->stores ? bytes : 0;
	take_visit(line, toucher, chunk);
	take_turn(line, chunk, access->stores);
	find_places(sharing, line, toucher);
}

void sharing_note(struct sharing *sharing, const struct sharing_chunk *chunk,
		  const struct sharing_access *access)
{
	if (!sharing_watches(sharing, chunk->space) || !(access->loads || access->stores))
		return;
	const uint64_t all = access->bytes < SHARING_MOST ? access->bytes : SHARING_MOST;
	for (uint64_t done = 0; done < all;) {
		const uint64_t at = access->address + done, to_end = CACHE_LINE - at % CACHE_LINE;
		const unsigned n = (unsigned)(all - done < to_end ? all - done : to_end);
		note_line(sharing, chunk, access, at / CACHE_LINE, line_bytes(at % CACHE_LINE, n));
		done += n;
	}
}

/* ---- what was seen ---- */

void sharing_each(const struct sharing *sharing,
		  void (*each)(void *context, const struct watched_line *line), void *context)
{
	for (size_t i = 0; sharing->lines && i < SHARING_LINES; i++)
		if (sharing->sets[i / WAYS].keys[i % WAYS])
			each(context, &sharing->lines[i / WAYS][i % WAYS]);
}

/* Sums over threads of the shares that they have in a line's visits, squared and to the third. */
struct shares {
	double squares, cubes;
};

static struct shares shares_of(const struct watched_line *line)
{
	struct shares sums = {0, 0};
	double all = 0;
	for (uint32_t i = 0; i < line->n; i++) {
		const struct toucher *toucher = &line->touchers[i];
		uint64_t most = 0; /* a visit of the thread is one of some of its instructions */
		bool is_first = true;
		for (uint32_t k = 0; k < line->n && is_first; k++) {
			const struct toucher *other = &line->touchers[k];
			if (other->thread != toucher->thread)
				continue;
			is_first = k >= i;
			most = other->visits > most ? other->visits : most;
		}
		const double visits = is_first ? (double)most : 0;
		all += visits;
		sums.squares += visits * visits;
		sums.cubes += visits * visits * visits;
	}
	sums.squares /= all * all;
	sums.cubes /= all * all * all;
	return sums;
}

/* Of visits of threads with shares p, in any order by chance, the sum of p (1 - p) are another
 * thread's than the one before, and that of p (1 - p)^2 than the next one as well.  Where threads
 * have the line for long there are few of the first, and hardly any of the second; where it moves
 * with each access for a part of the time alone there is that part of both.  So the smaller one
 * holds. */
#define LEAST_SINGLES 8 /* where fewer are expected, there may be none by chance */
double sharing_mixed(const struct watched_line *line)
{
	const struct shares shares = shares_of(line);
	const double change = 1 - shares.squares, single = change - shares.squares + shares.cubes;
	if (line->visits < 2 || !(change > 0))
		return 1;
	/* one change there must be, or it would not be shared */
	const double changes = ((double)line->changes - 1) / ((double)(line->visits - 1) * change);
	const double by_chance = ((double)line->visits - 2) * single;
	const double singles = by_chance < LEAST_SINGLES ? 1 : (double)line->singles / by_chance;
	return fmin(fmin(changes, singles), 1);
}

struct seen_executions sharing_seen(const struct sharing *sharing, uint32_t who)
{
	return who < sharing->n_seen ? sharing->seen[who] : (struct seen_executions){0};
}

const struct sharing_thread *sharing_threads(const struct sharing *sharing, size_t *n)
{
	*n = sharing->n_threads;
	return sharing->threads;
}

uint64_t sharing_lost(const struct sharing *sharing)
{
	return sharing->n_lost;
}
