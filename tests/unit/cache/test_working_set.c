#include "cache/working_set.h"

#include "cache/hierarchy.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define LINES 60000u /* 3.7 MB */
#define WHOS 4
#define NONE UINT32_MAX

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state * UINT64_C(0x2545f4914f6cdd1d) >> 16;
}

/* ---- A cache that does it: fully associative, LRU, write-back ---- */

struct traffic_of {
	uint64_t reads[WHOS], writes[WHOS];
};

struct lru {
	uint32_t capacity, n, newest, oldest;
	uint32_t newer[LINES], older[LINES], writer[LINES]; /* writer: NONE: not changed */
	bool here[LINES];
	struct traffic_of traffic;
};

static struct lru *lru_create(uint64_t bytes)
{
	struct lru *lru = calloc(1, sizeof(*lru));
	lru->capacity = bytes / CACHE_LINE;
	lru->newest = lru->oldest = NONE;
	return lru;
}

static void lru_unlink(struct lru *lru, uint32_t line)
{
	uint32_t newer = lru->newer[line], older = lru->older[line];
	*(newer == NONE ? &lru->newest : &lru->older[newer]) = older;
	*(older == NONE ? &lru->oldest : &lru->newer[older]) = newer;
	lru->here[line] = false;
	lru->n--;
}

static void lru_use(struct lru *lru, uint32_t who, uint32_t line, bool write)
{
	if (!lru->here[line]) {
		lru->traffic.reads[who] += !write;
		lru->writer[line] = NONE;
	} else {
		lru_unlink(lru, line);
	}
	if (lru->n == lru->capacity) {
		uint32_t last = lru->oldest;
		lru_unlink(lru, last);
		if (lru->writer[last] != NONE)
			lru->traffic.writes[lru->writer[last]]++;
	}
	lru->here[line] = true;
	lru->newer[line] = NONE;
	lru->older[line] = lru->newest;
	*(lru->newest == NONE ? &lru->oldest : &lru->newer[lru->newest]) = line;
	lru->newest = line;
	lru->n++;
	if (write)
		lru->writer[line] = who;
}

/* ---- Mixes ---- */

struct use {
	uint32_t line, who;
	bool write;
};

static void sweeps(uint64_t *random, unsigned i,
		   struct use *use) /* a triad over three arrays, again */
{
	uint32_t element = i / 3 % (LINES / 3);
	*use = (struct use){i % 3 * (LINES / 3) + element, i / (LINES * 2) % 2, i % 3 == 2};
}

static void uniform(uint64_t *random, unsigned i, struct use *use)
{
	*use = (struct use){next_random(random) % LINES, next_random(random) % WHOS,
			    next_random(random) % 4 == 0};
}

/* Small and large loops nested: knees at several capacities. */
static void loops(uint64_t *random, unsigned i, struct use *use)
{
	uint32_t inner = i % 4000, round = i / 4000;
	*use = (struct use){i % 2 ? inner : 4000 + (round * 2000 + inner / 2) % 40000, i % 2,
			    i % 8 == 1 || i % 6 == 2};
}

/* Most uses at few lines. */
static void skewed(uint64_t *random, unsigned i, struct use *use)
{
	uint64_t x = next_random(random) % LINES, y = next_random(random) % LINES;
	*use = (struct use){x * y / LINES, next_random(random) % WHOS,
			    next_random(random) % 3 == 0};
}

/* Rows of a stencil: three are read, one is written.  Its 44,000 lines are no knee near one of the
 * capacities: where one lies is only known as well as the lines between uses can be estimated (1 /
 * √ followed lines). */
static void stencil(uint64_t *random, unsigned i, struct use *use)
{
	uint32_t point = i / 4 % 22000, row = 700;
	uint32_t neighbour = i % 4 == 0   ? (point + 22000 - row) % 22000
			     : i % 4 == 1 ? point
					  : (point + row) % 22000;
	*use = (struct use){i % 4 == 3 ? 30000 + point : neighbour, i % 4, i % 4 == 3};
}

typedef void mix(uint64_t *random, unsigned i, struct use *use);
static mix *const mixes[] = {sweeps, uniform, loops, skewed, stencil};
static const char *const mix_names[] = {"sweeps", "uniform", "loops", "skewed", "stencil"};

/* ---- From rows to the traffic at a capacity ---- */

struct sums {
	uint64_t capacity;
	struct traffic_of traffic;
};

static void add_row(void *context, const struct working_set_row *row)
{
	struct sums *sums = context;
	cr_assert_eq(row->capacity % CACHE_LINE, 0);
	if (row->capacity && row->capacity <= sums->capacity)
		return;
	sums->traffic.reads[row->who] += row->reads;
	sums->traffic.writes[row->who] += row->writes;
}

static const uint64_t six[] = {64 << 10, 128 << 10, 300 << 10, 700 << 10, 1 << 20, 3 << 20};

#define USES 500000

static void assert_close(uint64_t found, uint64_t truth, double tolerance, uint64_t all,
			 const char *what, const char *name, uint64_t capacity)
{
	double off = found > truth ? (double)(found - truth) : (double)(truth - found);
	cr_assert_leq(off, tolerance * (truth + all / 50.), "%s, %s at %llu: %llu, truth %llu",
		      what, name, (unsigned long long)capacity, (unsigned long long)found,
		      (unsigned long long)truth);
}

static uint64_t total(const uint64_t *by_who)
{
	return by_who[0] + by_who[1] + by_who[2] + by_who[3];
}

/* Tolerance 0: of each who; else of the sums over all. */
static void compare(mix *make, const char *name, size_t max_lines, double tolerance)
{
	struct working_set *ws = working_set_create(max_lines, CACHE_CLASSES);
	struct lru *caches[COUNT(six)];
	struct use use;
	uint64_t random = 99;
	for (size_t i = 0; i < COUNT(six); i++)
		caches[i] = lru_create(working_set_capacity(six[i]));
	for (unsigned i = 0; i < USES; i++) {
		make(&random, i, &use);
		(use.write ? working_set_write
			   : working_set_read)(ws, use.who, UINT64_C(0x7f5512345) + use.line);
		for (size_t j = 0; j < COUNT(six); j++)
			lru_use(caches[j], use.who, use.line, use.write);
	}
	for (size_t i = 0; i < COUNT(six); i++) {
		struct sums sums = {.capacity = working_set_capacity(six[i])};
		struct traffic_of *truth = &caches[i]->traffic;
		working_set_rows(ws, add_row, &sums);
		for (int who = 0; who < WHOS && tolerance == 0; who++) {
			assert_close(sums.traffic.reads[who], truth->reads[who], 0, 0, name,
				     "reads", sums.capacity);
			assert_close(sums.traffic.writes[who], truth->writes[who], 0, 0, name,
				     "writes", sums.capacity);
		}
		assert_close(total(sums.traffic.reads), total(truth->reads), tolerance, USES, name,
			     "reads", sums.capacity);
		assert_close(total(sums.traffic.writes), total(truth->writes), tolerance, USES,
			     name, "writes", sums.capacity);
		free(caches[i]);
	}
	cr_assert_eq(working_set_lost(ws), 0);
	cr_assert_eq(working_set_weight(ws) > 1, tolerance > 0);
	working_set_destroy(ws);
}

Test(working_set, exact_as_six_caches_when_all_lines_are_followed)
{
	for (size_t i = 0; i < COUNT(mixes); i++)
		compare(mixes[i], mix_names[i], LINES, 0);
}

/* The choice of lines is always the same, so this does not depend on luck. */
Test(working_set, within_five_percent_of_six_caches_when_lines_are_thinned)
{
	for (size_t i = 0; i < COUNT(mixes); i++)
		compare(mixes[i], mix_names[i], LINES / 6, 0.05);
}

/* One class in 16 of a sweep over lines in order: the distances are exact up to rounding. */
Test(working_set, classes_are_scaled)
{
	struct working_set *ws = working_set_create(LINES, 4);
	struct sums less = {.capacity = working_set_capacity(64 * 40000 / 2)};
	struct sums more = {.capacity = working_set_capacity(64 * 40960 + 1)};
	for (unsigned i = 0; i < 3 * 40960; i++) {
		if (i % 64 == 3 || i % 64 == 17 || i % 64 == 18 || i % 64 == 60)
			working_set_read(ws, 1, i % 40960);
	}
	working_set_bypass(ws, 2);
	working_set_rows(ws, add_row, &less);
	working_set_rows(ws, add_row, &more);
	cr_assert_eq(less.traffic.reads[1], 3 * 40960);
	cr_assert_eq(more.traffic.reads[1], 40960);
	cr_assert_eq(more.traffic.writes[2], 16);
	working_set_destroy(ws);
}

Test(working_set, capacities_are_eighths_of_octaves)
{
	cr_assert_eq(working_set_capacity(1), 64 << 10);
	cr_assert_eq(working_set_capacity(64 << 10), 64 << 10);
	cr_assert_eq(working_set_capacity((64 << 10) + 1), 71424); /* 65536 · 2^(1/8) = 71467 */
	cr_assert_eq(working_set_capacity(1 << 20), 1 << 20);
	cr_assert_eq(working_set_capacity(UINT64_C(1) << 40), UINT64_C(1) << 40);
	cr_assert_eq(working_set_capacity(UINT64_C(1) << 60), UINT64_C(1) << 48); /* the largest */
}

/* Sweeps over n lines need all of them at a time, at whatever capacity that is. */
Test(working_set, knees_are_at_every_capacity)
{
	for (uint64_t n = 900; n < LINES; n += n / 7) {
		struct working_set *ws = working_set_create(LINES, CACHE_CLASSES);
		uint64_t needed = working_set_capacity(n * CACHE_LINE);
		struct sums less = {.capacity = needed - CACHE_LINE}, enough = {.capacity = needed};
		for (unsigned i = 0; i < 2 * n; i++)
			working_set_read(ws, 0, i % n);
		working_set_rows(ws, add_row, &less);
		working_set_rows(ws, add_row, &enough);
		cr_assert_eq(less.traffic.reads[0], 2 * n);
		cr_assert_eq(enough.traffic.reads[0], n);
		working_set_destroy(ws);
	}
}

/* ---- Behind a hierarchy ---- */

struct behind {
	struct working_set *by_event, *by_hand;
	int n_levels;
	uint64_t reads, writes;
};

static void note(void *context, enum traffic event, uint32_t who, uint64_t line)
{
	struct behind *behind = context;
	const bool three = behind->n_levels == 3;
	behind->reads += event == TRAFFIC_MEM_READ || event == TRAFFIC_MEM_WRITE_ALLOCATE;
	behind->writes += event == TRAFFIC_MEM_WRITE_BACK || event == TRAFFIC_MEM_NON_TEMPORAL ||
			  event == TRAFFIC_MEM_LEFT;
	working_set_event(behind->by_event, behind->n_levels, event, who, line);
	if (event == (three ? TRAFFIC_L3_READ : TRAFFIC_L2_READ) ||
	    event == (three ? TRAFFIC_L3_WRITE_ALLOCATE : TRAFFIC_L2_WRITE_ALLOCATE))
		working_set_read(behind->by_hand, who, line);
	else if (event == (three ? TRAFFIC_L3_WRITE_BACK : TRAFFIC_L2_WRITE_BACK))
		working_set_write(behind->by_hand, who, line);
	else if (event == TRAFFIC_MEM_NON_TEMPORAL)
		working_set_bypass(behind->by_hand, who);
}

/* Random accesses to twice as many lines as the last level has: what it did is near to what a fully
 * associative one of its size would do. */
static void follow(const char *text)
{
	struct geometry geometry;
	struct rf_error *error = geometry_parse(text, &geometry);
	cr_assert_null(error);
	struct behind behind = {working_set_create(LINES, CACHE_CLASSES),
				working_set_create(LINES, CACHE_CLASSES), geometry.n_levels};
	struct hierarchy *h = hierarchy_create(&geometry, 1, UINT64_MAX, false, note, &behind);
	struct sums by_event = {.capacity = geometry.levels[geometry.n_levels - 1].bytes},
		    by_hand = by_event;
	uint64_t random = 5;
	for (unsigned i = 0; i < 300000; i++) {
		unsigned chance = next_random(&random) % 20;
		enum cache_access kind = chance == 0  ? CACHE_NON_TEMPORAL
					 : chance < 5 ? CACHE_STORE
						      : CACHE_LOAD;
		uint64_t line = next_random(&random) % (by_event.capacity / CACHE_LINE * 2);
		hierarchy_access(h, 0, line + (kind == CACHE_NON_TEMPORAL ? LINES : 0), kind, 0, 64,
				 line % WHOS);
	}
	hierarchy_finish(h);
	working_set_rows(behind.by_event, add_row, &by_event);
	working_set_rows(behind.by_hand, add_row, &by_hand);
	cr_assert_arr_eq(&by_event, &by_hand, sizeof(by_event));
	assert_close(total(by_event.traffic.reads), behind.reads, 0.05, 0, text, "reads",
		     by_event.capacity);
	assert_close(total(by_event.traffic.writes), behind.writes, 0.05, 0, text, "writes",
		     by_event.capacity);
	cr_assert_gt(behind.reads, 100000);
	cr_assert_gt(behind.writes, 20000);
	hierarchy_destroy(h);
	working_set_destroy(behind.by_event);
	working_set_destroy(behind.by_hand);
}

Test(working_set, follows_a_hierarchy)
{
	follow("L1=4K:1,L2=256K:16");
	follow("L1=4K:1,L2=16K:4,L3=256K:16");
}
