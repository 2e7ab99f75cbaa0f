/* Joins what bursts have seen of lines with the accesses whose addresses are in the code, and says
 * what follows of how often each line can have moved. */
#include "tracer/traffic/sharing_lines.h"

#include "base/array.h"
#include "base/u64_map.h"
#include "cache/traffic.h"
#include "statistics/student.h"
#include "tracer/traffic/constant_operands.h"

#include <math.h>

#define SURELY 3 /* what was never seen in n executions happens in 3 of n at most, by 95 % */

struct find {
	const struct sharing *sharing;
	const struct sharing_run *run;
	const struct sharing_thread *threads;
	size_t n_threads;
	uint32_t *space_of; /* by thread: its space plus 1, where that is watched; 0: not */
	size_t n_space_of;
	struct shared_lines *out;
	struct u64_map index; /* of lines by space and number */
	struct rf_error *error;
};

/* ---- lines ---- */

/* The line of that number; `add`: made if it is not there. */
static struct shared_line *line_of(struct find *find, uint32_t space, uint64_t number, bool add)
{
	const uint64_t key = (number << 13 ^ space) + 1;
	const uint32_t *index = u64_map_find(&find->index, key);
	struct shared_lines *lines = find->out;
	const struct shared_line new = {.space = space, .line = number, .mixed = 1};
	if (index)
		return lines->items[*index].line == number && lines->items[*index].space == space
			       ? &lines->items[*index]
			       : NULL;
	if (!add)
		return NULL;
	if (!rf_array_push(lines->items, lines->n_items, lines->cap_items, new) ||
	    !u64_map_set(&find->index, key, (uint32_t)lines->n_items - 1)) {
		if (!find->error)
			find->error = rf_error_no_memory();
		return NULL;
	}
	return &lines->items[lines->n_items - 1];
}

static void add_place(struct find *find, struct shared_line *line,
		      const struct sharing_place *place)
{
	if (!find->error)
		find->error = rf_array_add(line->places, line->n_places, line->cap_places, *place);
}

/* ---- what bursts have seen ---- */

/* The share is that of bursts, which are looked at as a whole: at worst each of them had all of its
 * accesses there, or none. */
static double halfwidth_of(const struct seen_executions *seen, double share, double all)
{
	const double within = share < 1 ? share * (1 - share) : 0;
	const double spread =
		seen->bursts > 1 ? rf_student(seen->bursts - 1) * sqrt(within / seen->bursts) : 1;
	const double unseen = SURELY / (double)seen->executions;
	return all * fmin(1, (within > 0 ? spread : 0) + fmin(1, unseen));
}

static void add_watched(void *context, const struct watched_line *watched)
{
	struct find *find = context;
	const struct sharing_run *run = find->run;
	struct shared_line *line = line_of(find, watched->space, watched->line, true);
	if (!line)
		return;
	line->turns = watched->turns;
	line->mixed = sharing_mixed(watched);
	for (uint32_t i = 0; i < watched->n; i++) {
		const struct toucher *toucher = &watched->touchers[i];
		const struct seen_executions seen = sharing_seen(find->sharing, toucher->who);
		const uint64_t accesses = toucher->loads + toucher->stores - toucher->both;
		struct sharing_place place = {.thread = toucher->thread,
					      .loaded = toucher->loaded,
					      .stored = toucher->stored,
					      .place = toucher->place};
		if (!seen.executions)
			continue;
		run->instruction(run->context, toucher->who, &place.module, &place.offset);
		const double all =
			run->executions(run->context, place.thread, place.module, place.offset) *
			seen.n_operands;
		const double share = (double)accesses / (double)seen.executions;
		place.accesses = all * share;
		place.loads = place.accesses * (double)toucher->loads / (double)accesses;
		place.stores = place.accesses * (double)toucher->stores / (double)accesses;
		place.halfwidth = halfwidth_of(&seen, share, all);
		add_place(find, line, &place);
	}
}

/* ---- what the code says ---- */

static bool is_watched(void *context, uint32_t thread)
{
	const struct find *find = context;
	return thread < find->n_space_of && find->space_of[thread];
}

/* Adds what an operand did to one line.  What bursts have seen of it is not needed then. */
static void add_constant(struct find *find, struct shared_line *line,
			 const struct constant_access *access, uint64_t bytes)
{
	const double n = (double)access->n;
	struct sharing_place new = {
		.module = access->module,
		.thread = access->thread,
		.offset = access->offset,
		.place = {.object = PROFILE_NONE},
	};
	struct sharing_place *place = NULL;
	for (size_t i = 0; i < line->n_places && !place; i++)
		if (line->places[i].thread == new.thread && line->places[i].module == new.module &&
		    line->places[i].offset == new.offset)
			place = &line->places[i];
	if (!place) {
		add_place(find, line, &new);
		place = line->n_places ? &line->places[line->n_places - 1] : NULL;
	} else if (place->halfwidth > 0) {
		*place = new;
	}
	if (find->error || !place)
		return;
	place->loaded |= access->loads ? bytes : 0;
	place->stored |= access->stores ? bytes : 0;
	place->accesses += n;
	place->loads += access->loads ? n : 0;
	place->stores += access->stores ? n : 0;
}

/* The lines of an access; `store`: makes them where they are not there. */
static void take_constant(struct find *find, const struct constant_access *access, bool store)
{
	const uint32_t space = find->space_of[access->thread] - 1;
	uint64_t bias;
	if (!find->run->bias(find->run->context, space, access->module, &bias))
		return;
	for (unsigned done = 0; done < access->bytes;) {
		const uint64_t at = access->target + bias + done;
		const unsigned first = at % CACHE_LINE, rest = access->bytes - done;
		const unsigned n = rest < CACHE_LINE - first ? rest : CACHE_LINE - first;
		struct shared_line *line = line_of(find, space, at / CACHE_LINE, store);
		if (line && !store)
			add_constant(find, line, access, line_bytes(first, n));
		done += n;
	}
}

static void take_store(void *context, const struct constant_access *access)
{
	take_constant(context, access, true);
}

static void take_any(void *context, const struct constant_access *access)
{
	take_constant(context, access, false);
}

/* First the lines that such operands store to, then all accesses to these and to those that bursts
 * have seen: constants that are only read are very many. */
static struct rf_error *add_constants(struct find *find, const struct profile *profile)
{
	struct constant_operands *operands;
	struct rf_error *error = constant_operands_create(profile, is_watched, find, &operands);
	if (error)
		return error;
	constant_operands_each(operands, true, take_store, find);
	constant_operands_each(operands, false, take_any, find);
	constant_operands_destroy(operands);
	return NULL;
}

/* ---- what can have moved ---- */

/* A thread's part in a line. */
struct part {
	uint32_t thread;
	double accesses, stores;
	uint64_t loaded, stored;
	const struct sharing_thread *life; /* or NULL */
};

struct parts {
	struct part *items;
	size_t n_items, cap_items;
};

static struct part *part_of(struct parts *parts, uint32_t thread)
{
	for (size_t i = 0; i < parts->n_items; i++)
		if (parts->items[i].thread == thread)
			return &parts->items[i];
	return NULL;
}

static const struct sharing_thread *life_of(const struct sharing_thread *threads, size_t n,
					    uint32_t thread)
{
	for (size_t i = 0; i < n; i++)
		if (threads[i].thread == thread)
			return &threads[i];
	return NULL;
}

static void add_part(struct parts *parts, const struct sharing_place *place,
		     const struct sharing_thread *threads, size_t n_threads)
{
	struct part *part = part_of(parts, place->thread);
	const struct part new = {.thread = place->thread,
				 .life = life_of(threads, n_threads, place->thread)};
	if (!part && rf_array_push(parts->items, parts->n_items, parts->cap_items, new))
		part = &parts->items[parts->n_items - 1];
	if (!part)
		return;
	part->accesses += place->accesses;
	part->stores += place->stores;
	part->loaded |= place->loaded;
	part->stored |= place->stored;
}

static bool lived_together(const struct part *a, const struct part *b)
{
	return !a->life || !b->life || (a->life->from < b->life->to && b->life->from < a->life->to);
}

/* Stores of others while a thread lived; of those before only the last one can have mattered. */
static double stores_beside(const struct parts *parts, const struct part *own, uint64_t bytes)
{
	double stores = 0, before = 0;
	for (size_t i = 0; i < parts->n_items; i++) {
		const struct part *other = &parts->items[i];
		if (other == own || !(other->stored & bytes))
			continue;
		if (lived_together(own, other))
			stores += other->stores;
		else if (other->life->from < own->life->from)
			before = 1;
	}
	return stores + before;
}

/* The bytes that other threads have stored to. */
static uint64_t stored_by_others(const struct parts *parts, const struct part *own)
{
	uint64_t bytes = 0;
	for (size_t i = 0; i < parts->n_items; i++)
		bytes |= &parts->items[i] != own ? parts->items[i].stored : 0;
	return bytes;
}

/* Accesses of a thread to some of these bytes; or, of others, its stores. */
static double accesses_to(const struct shared_line *line, uint32_t thread, uint64_t bytes)
{
	double accesses = 0;
	for (size_t i = 0; i < line->n_places; i++) {
		const struct sharing_place *place = &line->places[i];
		if (place->thread == thread && (place->loaded | place->stored) & bytes)
			accesses += place->accesses;
	}
	return accesses;
}

static double stores_of_others_to(const struct shared_line *line, const struct parts *parts,
				  const struct part *own)
{
	double stores = 0;
	for (size_t i = 0; i < line->n_places; i++) {
		const struct sharing_place *place = &line->places[i];
		if (place->thread != own->thread && place->stored & (own->loaded | own->stored))
			stores += place->stores;
	}
	return fmin(stores, stores_beside(parts, own, own->loaded | own->stored));
}

void shared_line_sum(struct shared_line *line, const struct sharing_thread *threads,
		     size_t n_threads)
{
	struct parts parts = {0};
	double variance = 0;
	line->accesses = line->transfers_at_most = line->true_at_most = 0;
	for (size_t i = 0; i < line->n_places; i++) {
		add_part(&parts, &line->places[i], threads, n_threads);
		line->accesses += line->places[i].accesses;
		variance += line->places[i].halfwidth * line->places[i].halfwidth;
	}
	line->halfwidth = sqrt(variance);
	for (size_t i = 0; i < parts.n_items; i++) {
		const struct part *own = &parts.items[i];
		/* each time that it takes the line another one has stored to it since */
		line->transfers_at_most +=
			fmin(own->accesses, stores_beside(&parts, own, UINT64_MAX));
		line->true_at_most +=
			fmin(accesses_to(line, own->thread, stored_by_others(&parts, own)),
			     stores_of_others_to(line, &parts, own));
	}
	free(parts.items);
}

/* ---- the whole ---- */

static int compare_lines(const void *left, const void *right)
{
	const struct shared_line *a = left, *b = right;
	const double of_a = a->mixed * a->transfers_at_most, of_b = b->mixed * b->transfers_at_most;
	if (of_a != of_b)
		return of_a > of_b ? -1 : 1;
	if (a->space != b->space)
		return a->space < b->space ? -1 : 1;
	return (a->line > b->line) - (a->line < b->line);
}

static int compare_places(const void *left, const void *right)
{
	const struct sharing_place *a = left, *b = right;
	if (a->accesses != b->accesses)
		return a->accesses > b->accesses ? -1 : 1;
	if (a->stores != b->stores)
		return a->stores > b->stores ? -1 : 1;
	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return (a->offset > b->offset) - (a->offset < b->offset);
}

/* Whose data the bytes are that only the code tells of: it is static, and stays what it is. */
static void locate(const struct find *find, const struct shared_line *line,
		   struct sharing_place *place)
{
	const uint64_t bytes = place->loaded | place->stored;
	if (place->place.object == PROFILE_NONE && bytes)
		place->place = find->run->locate(find->run->context, line->space,
						 line->line * CACHE_LINE +
							 (unsigned)__builtin_ctzll(bytes));
}

/* Keeps the lines that matter. */
static void choose(struct find *find)
{
	struct shared_lines *lines = find->out;
	size_t n = 0;
	for (size_t i = 0; i < lines->n_items; i++) {
		struct shared_line *line = &lines->items[i];
		shared_line_sum(line, find->threads, find->n_threads);
		if (line->transfers_at_most >= SHARING_LEAST)
			lines->items[n++] = *line;
		else
			free(line->places);
	}
	lines->n_items = n;
	if (n)
		qsort(lines->items, n, sizeof(*lines->items), compare_lines);
	for (; lines->n_items > SHARING_KEPT; lines->n_items--)
		free(lines->items[lines->n_items - 1].places);
	for (size_t i = 0; i < lines->n_items; i++) {
		struct shared_line *line = &lines->items[i];
		qsort(line->places, line->n_places, sizeof(*line->places), compare_places);
		if (line->n_places > SHARING_PLACES)
			line->n_places = SHARING_PLACES;
		for (size_t k = 0; k < line->n_places; k++)
			locate(find, line, &line->places[k]);
	}
}

static struct rf_error *find_spaces(struct find *find)
{
	for (size_t i = 0; i < find->n_threads; i++) {
		const struct sharing_thread *thread = &find->threads[i];
		if (!sharing_watches(find->sharing, thread->space))
			continue;
		if (!rf_array_reach((void **)&find->space_of, &find->n_space_of, thread->thread,
				    sizeof(*find->space_of)))
			return rf_error_no_memory();
		find->space_of[thread->thread] = thread->space + 1;
	}
	return NULL;
}

struct rf_error *shared_lines_find(const struct sharing *sharing, const struct profile *profile,
				   const struct sharing_run *run, struct shared_lines *out)
{
	struct find find = {.sharing = sharing, .run = run, .out = out};
	*out = (struct shared_lines){0};
	find.threads = sharing_threads(sharing, &find.n_threads);
	struct rf_error *error = find_spaces(&find);
	if (!error && find.space_of) {
		sharing_each(sharing, add_watched, &find);
		error = add_constants(&find, profile);
		error = error ? error : find.error;
	}
	if (!error)
		choose(&find);
	else
		shared_lines_deinit(out);
	u64_map_deinit(&find.index);
	free(find.space_of);
	return error;
}

void shared_lines_deinit(struct shared_lines *lines)
{
	for (size_t i = 0; i < lines->n_items; i++)
		free(lines->items[i].places);
	free(lines->items);
	*lines = (struct shared_lines){0};
}
