/* Finds out by which steps each instruction walks through memory, and how much of each line that it
 * brings in is used. */
#include "tracer/traffic/strides.h"

#include "base/array.h"
#include "base/u64_map.h"

#include <string.h>

#define MORE_STEPS 3 /* frequent ones that are kept apart, beside the first */
#define WAYS 8       /* lines from memory with the same hash that are kept */

struct step_count {
	int64_t step;
	uint64_t n;
};

/* One operand of an instruction in one thread.  Two equal differences in a row are a step, which is
 * then followed until two others in a row are equal: one stray difference is the way from one row
 * to the next. */
struct walk {
	uint64_t last; /* address */
	int64_t step;  /* that is followed; if any */
	int64_t stray; /* the difference before, where it was not the step; if any */
	uint64_t unit, constant, random;
	uint64_t looked, crossed;
	struct step_count first; /* the first of the steps that are kept apart */
	uint32_t more;           /* place in strides.more plus 1; 0: there was no other */
	uint32_t bytes, burst;
	bool begun, has_step, has_stray;
};

/* What is left of the walks of an instruction whose thread has ended. */
struct walked {
	uint64_t unit, constant, random, looked, crossed;
	int64_t step; /* the most frequent one, `most` times */
	uint64_t most;
};

struct line_use {
	uint64_t line, used; /* used: a bit for each byte */
	uint32_t who;        /* plus 1; 0: empty */
};
#define RECENT 64 /* lines whose place is kept at hand */

struct strides {
	struct line_sample followed;
	/* Places in `walks` plus 1: at 2 who of its loads, at 2 who + 1 of its stores; 0: none. */
	uint32_t *walk_of;
	size_t n_walk_of;
	struct walk *walks;
	size_t n_walks, cap_walks;
	/* Of walks of several steps, those behind the first; the places of walks that have ended
	 * are used again with them. */
	struct more_steps {
		struct step_count of[MORE_STEPS];
	} * more;
	size_t n_more, cap_more;
	uint32_t *unused; /* places in `walks` */
	size_t n_unused, cap_unused;
	uint32_t *walked_of; /* by who: place in `walked` plus 1; 0: none */
	size_t n_walked_of;
	struct walked *walked;
	size_t n_walked, cap_walked;
	/* Bytes that each who brought in, and those used of them. */
	struct fetches {
		uint64_t fetched, used;
	} * fetches;
	size_t n_fetches;
	struct line_use *uses; /* n_buckets times WAYS, the newest of each first */
	uint64_t n_buckets;    /* a power of two */
	/* Where lines were that were touched last; another one may have come there since. */
	struct line_use *recent[RECENT];
};

struct strides *strides_create(const struct line_sample *used, uint64_t lines)
{
	struct strides *strides = calloc(1, sizeof(*strides));
	if (!strides)
		return NULL;
	strides->followed = *used;
	strides->n_buckets = 64;
	while (strides->n_buckets * WAYS < 2 * lines && strides->n_buckets < 1u << 22)
		strides->n_buckets *= 2;
	strides->uses = calloc(strides->n_buckets * WAYS, sizeof(*strides->uses));
	if (strides->uses)
		return strides;
	strides_destroy(strides);
	return NULL;
}

void strides_destroy(struct strides *strides)
{
	if (!strides)
		return;
	free(strides->walk_of);
	free(strides->walks);
	free(strides->more);
	free(strides->unused);
	free(strides->walked_of);
	free(strides->walked);
	free(strides->fetches);
	free(strides->uses);
	free(strides);
}

/* ---- steps ---- */

/* NULL: memory is short. */
static struct more_steps *more_steps_of(struct strides *strides, struct walk *walk)
{
	const struct more_steps none = {.of = {{0}}};
	if (!walk->more) {
		if (!rf_array_push(strides->more, strides->n_more, strides->cap_more, none))
			return NULL;
		walk->more = (uint32_t)strides->n_more;
	}
	return &strides->more[walk->more - 1];
}

/* Keeps count of the most frequent steps: a new one takes the place, and the count, of the rarest.
 */
static void count_step(struct strides *strides, struct walk *walk, int64_t step, uint64_t n)
{
	struct step_count *at = &walk->first;
	if (at->n && at->step != step) {
		struct more_steps *more = more_steps_of(strides, walk);
		for (size_t i = 0; more && i < MORE_STEPS; i++) {
			if (more->of[i].n && more->of[i].step == step) {
				at = &more->of[i];
				break;
			}
			if (more->of[i].n < at->n)
				at = &more->of[i];
		}
	}
	at->step = step;
	at->n += n;
}

static void add_constant(struct strides *strides, struct walk *walk, uint64_t n)
{
	const int64_t step = walk->step, bytes = walk->bytes;
	const bool unit = step && (step == bytes || step == -bytes);
	walk->unit += unit ? n : 0;
	walk->constant += unit ? 0 : n;
	count_step(strides, walk, step, n);
}

static void add_difference(struct strides *strides, struct walk *walk, int64_t difference)
{
	if (walk->has_step && difference == walk->step) {
		add_constant(strides, walk, 1);
		walk->has_stray = false;
	} else if (walk->has_stray && difference == walk->stray) {
		walk->step = difference;
		walk->has_step = true;
		walk->has_stray = false;
		walk->random--; /* the one before was no stray */
		add_constant(strides, walk, 2);
	} else {
		walk->random++;
		walk->stray = difference;
		walk->has_stray = true;
	}
}

/* The walk at that place of walk_of, which has none yet; NULL: memory is short. */
static struct walk *new_walk(struct strides *strides, size_t index)
{
	const struct walk new = {.begun = false};
	uint32_t place = (uint32_t)strides->n_walks;
	if (!rf_array_reach((void **)&strides->walk_of, &strides->n_walk_of, index,
			    sizeof(*strides->walk_of)))
		return NULL;
	if (strides->n_unused) {
		place = strides->unused[--strides->n_unused];
		const uint32_t more = strides->walks[place].more;
		strides->walks[place] = new;
		strides->walks[place].more = more;
		if (more)
			strides->more[more - 1] = (struct more_steps){.of = {{0}}};
	} else if (!rf_array_push(strides->walks, strides->n_walks, strides->cap_walks, new)) {
		return NULL;
	}
	strides->walk_of[index] = place + 1;
	return &strides->walks[place];
}

/* NULL: there is none. */
static struct walk *walk_at(const struct strides *strides, size_t index)
{
	const uint32_t place = index < strides->n_walk_of ? strides->walk_of[index] : 0;
	return place ? &strides->walks[place - 1] : NULL;
}

void strides_note(struct strides *strides, uint32_t who, bool store, uint32_t burst,
		  uint64_t address, uint32_t bytes)
{
	const size_t index = 2 * (size_t)who + store;
	struct walk *walk = walk_at(strides, index);
	if (!walk && !(walk = new_walk(strides, index)))
		return;
	walk->bytes = bytes;
	/* Differences across a gap mean nothing; a step that is followed is known all the same. */
	if (walk->begun && walk->burst == burst)
		add_difference(strides, walk, (int64_t)(address - walk->last));
	else
		walk->has_stray = false;
	walk->looked++;
	walk->crossed += address % CACHE_LINE + bytes > CACHE_LINE;
	walk->begun = true;
	walk->burst = burst;
	walk->last = address;
}

/* ---- lines from memory ---- */

static struct line_use *bucket_of(const struct strides *strides, uint64_t line)
{
	return &strides->uses[((line * 0x9e3779b97f4a7c15u >> 24) & (strides->n_buckets - 1)) *
			      WAYS];
}

/* Nothing more will be touched of it. */
static void close_use(struct strides *strides, const struct line_use *use)
{
	if (!use->who || !rf_array_reach((void **)&strides->fetches, &strides->n_fetches,
					 use->who - 1, sizeof(*strides->fetches)))
		return;
	strides->fetches[use->who - 1].fetched += CACHE_LINE;
	strides->fetches[use->who - 1].used += (unsigned)__builtin_popcountll(use->used);
}

static bool is_followed(const struct strides *strides, uint64_t line)
{
	return line_sample_has(&strides->followed, line);
}

static bool is_use_of(const struct line_use *use, uint64_t line)
{
	return use->who && use->line == line;
}

void strides_fetched(struct strides *strides, uint64_t line, uint32_t who)
{
	if (!is_followed(strides, line))
		return;
	struct line_use *bucket = bucket_of(strides, line);
	size_t way = 0;
	while (way < WAYS - 1 && !is_use_of(&bucket[way], line))
		way++;
	close_use(strides, &bucket[way]); /* the same one, or the oldest */
	memmove(&bucket[1], &bucket[0], way * sizeof(*bucket));
	bucket[0] = (struct line_use){.line = line, .who = who + 1};
}

void strides_touched(struct strides *strides, uint64_t line, uint64_t bytes)
{
	if (!is_followed(strides, line))
		return;
	struct line_use **recent = &strides->recent[line / CACHE_CLASSES % RECENT];
	if (*recent && is_use_of(*recent, line)) {
		(*recent)->used |= bytes;
		return;
	}
	struct line_use *bucket = bucket_of(strides, line);
	for (size_t way = 0; way < WAYS; way++)
		if (is_use_of(&bucket[way], line)) {
			bucket[way].used |= bytes;
			*recent = &bucket[way];
			return;
		}
}

/* ---- results ---- */

static void take_frequent(struct walked *sum, const struct step_count *step)
{
	if (step->n > sum->most) {
		sum->most = step->n;
		sum->step = step->step;
	}
}

static void add_walk(const struct strides *strides, struct walked *sum, const struct walk *walk)
{
	sum->unit += walk->unit;
	sum->constant += walk->constant;
	sum->random += walk->random;
	sum->looked += walk->looked;
	sum->crossed += walk->crossed;
	take_frequent(sum, &walk->first);
	for (size_t i = 0; walk->more && i < MORE_STEPS; i++)
		take_frequent(sum, &strides->more[walk->more - 1].of[i]);
}

/* All walks of an instruction in a thread. */
static struct walked all_walked(const struct strides *strides, uint32_t who)
{
	const uint32_t place = who < strides->n_walked_of ? strides->walked_of[who] : 0;
	struct walked sum = place ? strides->walked[place - 1] : (struct walked){0};
	for (size_t i = 2 * (size_t)who; i < 2 * (size_t)who + 2; i++) {
		const struct walk *walk = walk_at(strides, i);
		if (walk)
			add_walk(strides, &sum, walk);
	}
	return sum;
}

static bool keep_walked(struct strides *strides, uint32_t who, const struct walked *walked)
{
	if (!rf_array_reach((void **)&strides->walked_of, &strides->n_walked_of, who,
			    sizeof(*strides->walked_of)))
		return false;
	uint32_t *place = &strides->walked_of[who];
	if (*place)
		strides->walked[*place - 1] = *walked;
	else if (rf_array_push(strides->walked, strides->n_walked, strides->cap_walked, *walked))
		*place = (uint32_t)strides->n_walked;
	return *place;
}

void strides_end(struct strides *strides, uint32_t who)
{
	const struct walked walked = all_walked(strides, who);
	if (walked.looked && !keep_walked(strides, who, &walked))
		return; /* memory is short: they stay as they are */
	for (size_t i = 2 * (size_t)who; i < 2 * (size_t)who + 2; i++) {
		if (!walk_at(strides, i))
			continue;
		/* where memory is short the place is just not used again */
		(void)rf_array_push(strides->unused, strides->n_unused, strides->cap_unused,
				    strides->walk_of[i] - 1);
		strides->walk_of[i] = 0;
	}
}

struct stride_counts strides_counts(const struct strides *strides, uint32_t who)
{
	const struct walked walked = all_walked(strides, who);
	struct stride_counts counts = {.unit = walked.unit,
				       .constant = walked.constant,
				       .random = walked.random,
				       .step = walked.step,
				       .looked = walked.looked,
				       .crossed = walked.crossed};
	if (who < strides->n_fetches) {
		counts.fetched = strides->fetches[who].fetched;
		counts.used = strides->fetches[who].used;
	}
	for (size_t i = 0; i < strides->n_buckets * WAYS; i++) /* still there */
		if (strides->uses[i].who == who + 1) {
			counts.fetched += CACHE_LINE;
			counts.used += (unsigned)__builtin_popcountll(strides->uses[i].used);
		}
	return counts;
}

static void close_all(struct strides *strides)
{
	for (size_t i = 0; i < strides->n_buckets * WAYS; i++) {
		close_use(strides, &strides->uses[i]);
		strides->uses[i].who = 0;
	}
}

/* Adds a row, or to that of another thread. */
static struct rf_error *add_crossing(struct profile *profile, struct u64_map *row_of,
				     uint32_t module, uint64_t offset,
				     const struct stride_counts *counts)
{
	const uint64_t key = ((uint64_t)module << 48 | offset) + 1;
	const uint32_t *index = u64_map_find(row_of, key);
	if (index) {
		profile->crossings[*index].looked += counts->looked;
		profile->crossings[*index].crossed += counts->crossed;
		return NULL;
	}
	const struct profile_crossing row = {module, offset, counts->looked, counts->crossed};
	return rf_array_push(profile->crossings, profile->n_crossings, profile->cap_crossings,
			     row) &&
			       u64_map_set(row_of, key, (uint32_t)profile->n_crossings - 1)
		       ? NULL
		       : rf_error_no_memory();
}

/* Those of no use are left out: instructions none of whose accesses crossed a line. */
static void drop_whole(struct profile *profile)
{
	size_t kept = 0;
	for (size_t i = 0; i < profile->n_crossings; i++)
		if (profile->crossings[i].crossed)
			profile->crossings[kept++] = profile->crossings[i];
	profile->n_crossings = kept;
}

static uint64_t steps_of(const struct stride_counts *counts)
{
	return counts->unit + counts->constant + counts->random;
}

/* One row for all threads of an instruction; its step is that of the thread with most. */
static struct rf_error *add_row(struct profile *profile, struct u64_map *row_of, uint32_t module,
				uint64_t offset, const struct stride_counts *counts)
{
	const uint64_t key = ((uint64_t)module << 48 | offset) + 1;
	const uint32_t *index = u64_map_find(row_of, key);
	if (!index) {
		const struct profile_stride row = {
			.module = module,
			.offset = offset,
			.unit = counts->unit,
			.constant = counts->constant,
			.random = counts->random,
			.step = counts->step,
			.fetched = counts->fetched,
			.used = counts->used,
		};
		return rf_array_push(profile->strides, profile->n_strides, profile->cap_strides,
				     row) &&
				       u64_map_set(row_of, key, (uint32_t)profile->n_strides - 1)
			       ? NULL
			       : rf_error_no_memory();
	}
	struct profile_stride *row = &profile->strides[*index];
	if (steps_of(counts) > row->unit + row->constant + row->random)
		row->step = counts->step;
	row->unit += counts->unit;
	row->constant += counts->constant;
	row->random += counts->random;
	row->fetched += counts->fetched;
	row->used += counts->used;
	return NULL;
}

struct rf_error *strides_save(struct strides *strides, struct profile *profile,
			      void (*place)(void *context, uint32_t who, uint32_t *module,
					    uint64_t *offset),
			      void *context)
{
	struct rf_error *error = NULL;
	struct u64_map row_of = {0}, crossing_of = {0};
	close_all(strides);
	const uint64_t n_buckets = strides->n_buckets;
	strides->n_buckets = 0; /* they are all counted */
	size_t n = strides->n_fetches;
	n = n > strides->n_walk_of / 2 ? n : strides->n_walk_of / 2;
	n = n > strides->n_walked_of ? n : strides->n_walked_of;
	for (uint32_t who = 0; who < n && !error; who++) {
		const struct stride_counts counts = strides_counts(strides, who);
		uint32_t module;
		uint64_t offset;
		if (!counts.looked && !counts.fetched)
			continue;
		place(context, who, &module, &offset);
		if (steps_of(&counts) || counts.fetched)
			error = add_row(profile, &row_of, module, offset, &counts);
		if (!error && counts.looked)
			error = add_crossing(profile, &crossing_of, module, offset, &counts);
	}
	drop_whole(profile);
	strides->n_buckets = n_buckets;
	u64_map_deinit(&row_of);
	u64_map_deinit(&crossing_of);
	return error;
}
