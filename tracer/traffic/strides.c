/* Finds out by which steps each instruction walks through memory, and how much of each line that it
 * brings in is used. */
#include "tracer/traffic/strides.h"

#include "base/array.h"
#include "base/u64_map.h"

#include <string.h>

#define ENOUGH 3 /* differences that agree on a step */
#define MOST_HELD 200
#define N_STEPS 4 /* most frequent steps that are kept apart */
#define WAYS 8    /* lines from memory with the same hash that are kept */

/* One operand of an instruction in one thread.  A step is tried until ENOUGH differences agree on
 * it, and then followed until two in a row do not: one stray difference is the way from one row to
 * the next. */
struct walk {
	uint64_t last; /* address */
	int64_t step;
	int64_t before;       /* the difference before this one */
	uint64_t before_from; /* the address that it was counted from */
	uint64_t last_told;   /* address, of whatever class */
	int64_t divisor;      /* that all differences since `last` have in common */
	uint32_t bytes, burst;
	uint8_t n;    /* differences that agree on the step, up to ENOUGH: then it is followed */
	uint8_t held; /* differences that are not counted yet */
	bool strayed;
	bool begun, has_before;
	uint64_t unit, constant, random;
	struct {
		int64_t step;
		uint64_t n;
	} steps[N_STEPS];
};

struct line_use {
	uint64_t line, used; /* used: a bit for each byte */
	uint32_t who;        /* plus 1; 0: empty */
};
#define RECENT 64 /* lines whose place is kept at hand */

struct strides {
	struct line_sample told, followed;
	struct walk *walks; /* at 2 who those of its loads, at 2 who + 1 of its stores */
	size_t n_walks;
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

struct strides *strides_create(const struct line_sample *told, const struct line_sample *used,
			       uint64_t lines)
{
	struct strides *strides = calloc(1, sizeof(*strides));
	if (!strides)
		return NULL;
	strides->told = *told;
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
	free(strides->walks);
	free(strides->fetches);
	free(strides->uses);
	free(strides);
}

/* Room for item `index` of an array that grows by doubling, zero at first. */
static bool make_room(void **items, size_t *n, size_t index, size_t size)
{
	if (index < *n)
		return true;
	const size_t wanted = index * 2 + 64;
	char *grown = realloc(*items, wanted * size);
	if (!grown)
		return false;
	memset(grown + *n * size, 0, (wanted - *n) * size);
	*items = grown;
	*n = wanted;
	return true;
}

/* ---- steps ---- */

static bool is_seen(const struct strides *strides, uint64_t address)
{
	return line_sample_has(&strides->told, address / CACHE_LINE);
}

/* Whether steps of `step` bytes from `from` on lead to `from` + `difference` without an access
 * between that would have been seen. */
static bool leads(const struct strides *strides, uint64_t from, int64_t step, int64_t difference)
{
	if (!step || !difference)
		return step == difference;
	if (difference % step || difference / step < 0)
		return false;
	const int64_t n = difference / step;
	/* After so many steps a walk comes to the class again where it began; of these not all
	 * lines may be in the sample, but hardly more than so many in a row are not. */
	const int64_t period =
		CACHE_CLASSES * CACHE_LINE * (int64_t)(2 * line_sample_one_in(&strides->told) - 1);
	for (int64_t i = 1; i < n; i++)
		if (i > period || is_seen(strides, from + (uint64_t)(i * step)))
			return false;
	return true;
}

static int64_t common_divisor(int64_t a, int64_t b)
{
	const bool below = a < 0;
	uint64_t x = below ? -(uint64_t)a : (uint64_t)a, y = b < 0 ? -(uint64_t)b : (uint64_t)b;
	while (y) {
		const uint64_t rest = x % y;
		x = y;
		y = rest;
	}
	return below ? -(int64_t)x : (int64_t)x;
}

/* Keeps count of the most frequent steps: a new one takes the place, and the count, of the rarest.
 */
static void count_step(struct walk *walk, int64_t step, uint64_t n)
{
	size_t rarest = 0;
	for (size_t i = 0; i < N_STEPS; i++) {
		if (walk->steps[i].n && walk->steps[i].step == step) {
			walk->steps[i].n += n;
			return;
		}
		if (walk->steps[i].n < walk->steps[rarest].n)
			rarest = i;
	}
	walk->steps[rarest].step = step;
	walk->steps[rarest].n += n;
}

/* The step, or a part of it that explains the last difference too and that accesses between have
 * shown. */
static int64_t shown_step(const struct strides *strides, const struct walk *walk,
			  int64_t difference)
{
	const int64_t part = walk->step < 0 ? -walk->divisor : walk->divisor;
	const bool fits =
		part && walk->step % part == 0 && leads(strides, walk->last, part, difference);
	return fits ? part : walk->step;
}

static void add_constant(const struct strides *strides, struct walk *walk, int64_t difference,
			 uint64_t n)
{
	const int64_t step = shown_step(strides, walk, difference);
	const bool unit = step && (step == walk->bytes || step == -(int64_t)walk->bytes);
	walk->unit += unit ? n : 0;
	walk->constant += unit ? 0 : n;
	count_step(walk, step, n);
}

/* Whether a step explains this difference and the one before. */
static bool explains_both(const struct strides *strides, const struct walk *walk, int64_t step,
			  int64_t difference)
{
	return step && leads(strides, walk->before_from, step, walk->before) &&
	       leads(strides, walk->last, step, difference);
}

static bool same_way(int64_t a, int64_t b)
{
	return a && b && (a < 0) == (b < 0);
}

/* The step of `step` or less that is tried for this difference: where all classes between are
 * unseen, a walk by the width of the access is the simplest explanation. */
static int64_t simplest(const struct strides *strides, const struct walk *walk, int64_t step,
			int64_t difference)
{
	const int64_t unit = step < 0 ? -(int64_t)walk->bytes : walk->bytes;
	const bool is_unit = unit && leads(strides, walk->last, unit, difference) &&
			     step % unit == 0 &&
			     (!walk->held || leads(strides, walk->before_from, unit, walk->before));
	return is_unit ? unit : step;
}

/* Tries a step that explains this difference, together with the one before it if there is such a
 * step. */
static void try_new(const struct strides *strides, struct walk *walk, int64_t difference)
{
	const int64_t common = walk->has_before && same_way(walk->before, difference)
				       ? common_divisor(walk->before, difference)
				       : 0;
	const bool together = explains_both(strides, walk, common, difference);
	const uint8_t kept = together && walk->held;
	walk->random += walk->held - kept;
	walk->held = kept;
	walk->step = simplest(strides, walk, together ? common : difference, difference);
	walk->held++;
	walk->n = together ? 2 : 1;
	walk->strayed = false;
}

/* A step that was found as a multiple of the true one, because the first differences were. */
static bool refine(const struct strides *strides, struct walk *walk, int64_t difference)
{
	const int64_t common =
		same_way(walk->step, difference) ? common_divisor(walk->step, difference) : 0;
	if (!explains_both(strides, walk, common, difference))
		return false;
	walk->step = simplest(strides, walk, common, difference);
	return true;
}

static void follow(struct walk *walk, const struct strides *strides, int64_t difference)
{
	if (leads(strides, walk->last, walk->step, difference) ||
	    (!walk->strayed && refine(strides, walk, difference))) {
		add_constant(strides, walk, difference, 1);
		walk->strayed = false;
	} else if (walk->strayed) {
		try_new(strides, walk, difference);
	} else {
		walk->random++;
		walk->strayed = true;
	}
}

static void try_on(struct walk *walk, const struct strides *strides, int64_t difference)
{
	if (walk->n && !leads(strides, walk->last, walk->step, difference) &&
	    walk->held < MOST_HELD && refine(strides, walk, difference)) {
		walk->n = 2; /* the last two agree */
		walk->held++;
		return;
	}
	if (!walk->n || !leads(strides, walk->last, walk->step, difference)) {
		try_new(strides, walk, difference);
		return;
	}
	walk->n++;
	walk->held++;
	if (walk->n < ENOUGH)
		return;
	add_constant(strides, walk, difference, walk->held);
	walk->held = 0;
}

/* Differences across a gap mean nothing; a step that is being followed is known all the same. */
static void begin_burst(struct walk *walk, uint32_t burst)
{
	walk->burst = burst;
	walk->begun = walk->has_before = walk->strayed = false;
	walk->random += walk->held;
	walk->held = 0;
	if (walk->n < ENOUGH)
		walk->n = 0;
}

void strides_note(struct strides *strides, uint32_t who, bool store, uint32_t burst,
		  uint64_t address, uint32_t bytes)
{
	const size_t index = 2 * (size_t)who + store;
	if (!make_room((void **)&strides->walks, &strides->n_walks, index, sizeof(*strides->walks)))
		return;
	struct walk *walk = &strides->walks[index];
	walk->bytes = bytes;
	if (walk->burst != burst)
		begin_burst(walk, burst);
	const int64_t since = (int64_t)(address - walk->last_told);
	walk->divisor = walk->begun ? common_divisor(since < 0 ? -since : since, walk->divisor) : 0;
	walk->last_told = address;
	if (!is_seen(strides, address))
		return;
	if (walk->begun) {
		const int64_t difference = (int64_t)(address - walk->last);
		if (walk->n == ENOUGH)
			follow(walk, strides, difference);
		else
			try_on(walk, strides, difference);
		walk->before = difference;
		walk->before_from = walk->last;
		walk->has_before = true;
	}
	walk->begun = true;
	walk->last = address;
	walk->divisor = 0;
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
	if (!use->who || !make_room((void **)&strides->fetches, &strides->n_fetches, use->who - 1,
				    sizeof(*strides->fetches)))
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

static void add_walk(struct stride_counts *counts, const struct walk *walk, uint64_t *most)
{
	counts->unit += walk->unit;
	counts->constant += walk->constant;
	counts->random += walk->random + walk->held;
	for (size_t i = 0; i < N_STEPS; i++)
		if (walk->steps[i].n > *most) {
			*most = walk->steps[i].n;
			counts->step = walk->steps[i].step;
		}
}

struct stride_counts strides_counts(const struct strides *strides, uint32_t who)
{
	struct stride_counts counts = {0};
	uint64_t most = 0;
	for (size_t i = 2 * (size_t)who; i < 2 * (size_t)who + 2 && i < strides->n_walks; i++)
		add_walk(&counts, &strides->walks[i], &most);
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
	struct u64_map row_of = {0};
	close_all(strides);
	const uint64_t n_buckets = strides->n_buckets;
	strides->n_buckets = 0; /* they are all counted */
	const size_t n = strides->n_fetches > strides->n_walks / 2 ? strides->n_fetches
								   : strides->n_walks / 2;
	for (uint32_t who = 0; who < n && !error; who++) {
		const struct stride_counts counts = strides_counts(strides, who);
		uint32_t module;
		uint64_t offset;
		if (!steps_of(&counts) && !counts.fetched)
			continue;
		place(context, who, &module, &offset);
		error = add_row(profile, &row_of, module, offset, &counts);
	}
	strides->n_buckets = n_buckets;
	u64_map_deinit(&row_of);
	return error;
}
