#include "cache/hierarchy.h"
#include "cache_reference.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define WHOS 8
#define BASE UINT64_C(0x1fd5555640)	/* a line, far up, of class 0 */

static const char *const event_names[N_TRAFFIC] = {
	"L2 read", "L2 write-allocate", "L2 write-back", "L3 read", "L3 write-allocate", "L3 write-back",
	"L3 clean victim", "memory read", "memory write-allocate", "memory write-back", "non-temporal",
	"evadable", "left",
};

struct counts { uint64_t n[N_TRAFFIC][WHOS][CACHE_CLASSES]; };

static void count(void *context, enum traffic event, uint32_t who, uint64_t line)
{
	struct counts *counts = context;
	cr_assert_lt(who, WHOS);
	counts->n[event][who][line % CACHE_CLASSES]++;
}

static uint64_t sum(const struct counts *counts, enum traffic event)
{
	uint64_t n = 0;
	for (int who = 0; who < WHOS; who++)
		for (int k = 0; k < CACHE_CLASSES; k++)
			n += counts->n[event][who][k];
	return n;
}

static struct geometry parse(const char *text)
{
	struct geometry geometry;
	struct rf_error *error = geometry_parse(text, &geometry);
	cr_assert_null(error, "%s: %s", text, error ? error->message : "");
	return geometry;
}

/* ---- Mixes of accesses ---- */

struct access { unsigned core; uint64_t line; enum cache_access kind; unsigned first, n; uint32_t who; };

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state * UINT64_C(0x2545f4914f6cdd1d) >> 16;
}

/* `span`: lines that a mix moves in; a few times the largest cache.  i: number of the access. */
struct mix {
	const char *name;
	void (*make)(uint64_t *random, unsigned i, uint64_t span, struct access *access);
};

static void bytes_at_random(uint64_t *random, struct access *access)
{
	static const unsigned widths[] = { 4, 8, 16, 32, 64 };
	access->n = widths[next_random(random) % COUNT(widths)];
	access->first = next_random(random) % (CACHE_LINE / access->n) * access->n;
}

static void uniform(uint64_t *random, unsigned i, uint64_t span, struct access *access)
{
	access->line = BASE + next_random(random) % span;
	access->kind = next_random(random) % 3 == 0 ? CACHE_STORE : CACHE_LOAD;
	bytes_at_random(random, access);
}

/* Most accesses go to few lines; all kinds; addresses far apart. */
static void everything(uint64_t *random, unsigned i, uint64_t span, struct access *access)
{
	static const enum cache_access kinds[] = {
		CACHE_LOAD, CACHE_LOAD, CACHE_LOAD, CACHE_LOAD, CACHE_STORE, CACHE_STORE, CACHE_STORE,
		CACHE_STORE, CACHE_STORE, CACHE_NON_TEMPORAL, CACHE_NON_TEMPORAL, CACHE_FLUSH, CACHE_CLEAN,
		CACHE_LINE_ZERO,
	};
	uint64_t near = next_random(random) % 4 ? next_random(random) % (span / 8 + 1) : next_random(random) % span;
	access->line = BASE + near + (next_random(random) % 5 << 27);
	access->kind = kinds[next_random(random) % COUNT(kinds)];
	bytes_at_random(random, access);
}

/* a[i] = b[i] + c[i], 8 bytes at a time. */
static void triad(uint64_t *random, unsigned i, uint64_t span, struct access *access)
{
	uint64_t element = i / 3;
	access->line = BASE + i % 3 * (UINT64_C(1) << 30) + element / 8 % span;
	access->kind = i % 3 == 2 ? CACHE_STORE : CACHE_LOAD;
	access->n = 8;
	access->first = element % 8 * 8;
}

/* b[i] = a[i] past the caches, 16 bytes at a time, on some lines only three quarters. */
static void copy(uint64_t *random, unsigned i, uint64_t span, struct access *access)
{
	uint64_t element = i / 2;
	access->line = BASE + i % 2 * (UINT64_C(3) << 29) + element / 4 % span;
	bool hole = element % 4 == 1 && element / 4 % 5 == 0;
	access->kind = i % 2 && !hole ? CACHE_NON_TEMPORAL : CACHE_LOAD;
	access->n = 16;
	access->first = element % 4 * 16;
}

/* Lines that conflict in the first levels. */
static void conflicts(uint64_t *random, unsigned i, uint64_t span, struct access *access)
{
	access->line = BASE + i % 21 * 1024 + i / 21 % 7;
	access->kind = i / 5 % 4 == 0 ? CACHE_STORE : CACHE_LOAD;
	access->n = 32;
	access->first = i % 2 * 32;
}

/* Whole lines written, part of them read again, from the end to the beginning. */
static void backwards(uint64_t *random, unsigned i, uint64_t span, struct access *access)
{
	access->line = BASE + span - i / 4 % span;
	access->kind = i % 4 == 3 && next_random(random) % 3 == 0 ? CACHE_LOAD : CACHE_STORE;
	access->n = i % 4 == 3 ? 64 : 16 + i % 4 * 8;
	access->first = i % 4 == 3 ? 0 : i % 4 * 16;
}

static const struct mix mixes[] = {
	{ "uniform", uniform }, { "everything", everything }, { "triad", triad },
	{ "copy", copy }, { "conflicts", conflicts }, { "backwards", backwards },
};

/* ---- Fast against slow ---- */

static const char *const geometries[] = {
	"L1=4K:1", "L1=8K:2", "L1=32K:8:plru", "L1=48K:12",
	"L1=4K:1,L2=8K:1", "L1=4K:1,L2=16K:1:inclusive", "L1=8K:2,L2=32K:4", "L1=8K:2,L2=32K:4:inclusive",
	"L1=8K:2,L2=32K:8:victim", "L1=8K:2:plru,L2=32K:8:plru", "L1=8K:2,L2=48K:12:private",
	"L1=8K:2,L2=80K:20", "L1=8K:2,L2=128K:32:inclusive",
	"L1=4K:1,L2=8K:1,L3=16K:1", "L1=4K:1,L2=8K:1,L3=16K:1:inclusive", "L1=4K:1,L2=8K:1,L3=16K:1:victim",
	"L1=8K:2,L2=16K:4,L3=48K:12", "L1=8K:2,L2=16K:4,L3=48K:12:inclusive", "L1=8K:2,L2=16K:4,L3=48K:12:victim",
	"L1=8K:2,L2=16K:4:inclusive,L3=48K:12", "L1=8K:2,L2=16K:4:inclusive,L3=64K:16:inclusive",
	"L1=8K:2,L2=16K:4:inclusive,L3=60K:15:victim", "L1=8K:2,L2=16K:4:inclusive,L3=8K:2:victim",
	"L1=8K:2,L2=8K:2:victim,L3=32K:4", "L1=8K:2,L2=8K:2:victim,L3=32K:4:inclusive",
	"L1=8K:2,L2=8K:2:victim,L3=32K:4:victim",
	"L1=16K:4:plru,L2=32K:8:plru,L3=64K:16:plru", "L1=16K:4:plru,L2=32K:8:plru,L3=64K:16:plru:inclusive",
	"L1=16K:4:plru,L2=32K:8:plru:inclusive,L3=64K:16:plru:victim",
	"L1=8K:2,L2=24K:2,L3=72K:6", "L1=8K:2,L2=28K:1,L3=84K:3:victim", "L1=8K:2,L2=16K:4,L3=420K:15:victim",
	"L1=8K:2,L2=16K:4:private,L3=80K:20:private", "L1=8K:2,L2=16K:4:shared,L3=40K:10:shared",
	"L1=8K:2,L2=16K:4:shared:victim,L3=40K:10:inclusive", "L1=8K:2,L2=16K:4:shared:inclusive,L3=80K:20:victim",
	"L1=2K:1,L2=6K:1,L3=32K:8", "L1=512:8,L2=4K:64:victim", "L1=1K:2:plru,L2=24K:24:inclusive,L3=96K:48",
	"L1=48K:12,L2=256K:16,L3=512K:16:victim", "L1=32K:8:plru,L2=256K:8:plru,L3=640K:20:inclusive",
	"L1=4K:64:plru,L2=8K:64:plru,L3=64K:64:plru:victim",
};

static uint64_t largest_lines(const struct geometry *geometry)
{
	uint64_t lines = 0;
	for (int i = 0; i < geometry->n_levels; i++)
		if (geometry->levels[i].bytes / CACHE_LINE > lines)
			lines = geometry->levels[i].bytes / CACHE_LINE;
	return lines;
}

static void assert_same(const struct counts *fast, const struct counts *slow, uint64_t classes, const char *what)
{
	for (int event = 0; event < N_TRAFFIC; event++)
		for (int who = 0; who < WHOS; who++)
			for (int k = 0; k < CACHE_CLASSES; k++)
				cr_assert_eq(fast->n[event][who][k], classes >> k & 1 ? slow->n[event][who][k] : 0,
					     "%s: %s of %d, class %d: %llu, truth %llu", what, event_names[event],
					     who, k, (unsigned long long)fast->n[event][who][k],
					     (unsigned long long)slow->n[event][who][k]);
}

/* Three hierarchies side by side: the slow one, all classes, and some. */
static void compare(const char *text, const struct mix *mix, unsigned n_cores, bool prefetch, unsigned n_accesses,
		    uint64_t seed)
{
	static struct counts slow, fast, some;
	struct geometry geometry = parse(text);
	uint64_t random = seed * 2 + 1, classes = geometry_classes(&geometry, 1 << 5 | UINT64_C(1) << 62, prefetch);
	uint64_t span = largest_lines(&geometry) * 2 + 3;
	struct reference *r = reference_create(&geometry, prefetch, count, &slow);
	struct hierarchy *h = hierarchy_create(&geometry, 1, UINT64_MAX, prefetch, count, &fast);
	struct hierarchy *s = hierarchy_create(&geometry, n_cores, 1 << 5 | UINT64_C(1) << 62, prefetch, count, &some);
	memset(&slow, 0, sizeof(slow));
	memset(&fast, 0, sizeof(fast));
	memset(&some, 0, sizeof(some));
	for (unsigned i = 0; i < n_accesses; i++) {
		struct access a;
		mix->make(&random, i, span, &a);
		a.core = next_random(&random) / 8 % n_cores;
		a.who = next_random(&random) % WHOS;
		reference_access(r, a.core, a.line, a.kind, a.first, a.n, a.who);
		hierarchy_access(h, a.core, a.line, a.kind, a.first, a.n, a.who);
		hierarchy_access(s, a.core, a.line, a.kind, a.first, a.n, a.who);
		if (i == n_accesses / 2 && seed % 2) {	/* the end of one program, and another begins */
			reference_finish(r);
			hierarchy_finish(h);
			hierarchy_finish(s);
		}
	}
	reference_finish(r);
	hierarchy_finish(h);
	hierarchy_finish(s);
	char what[200];
	snprintf(what, sizeof(what), "%s, %s, %u cores%s", text, mix->name, n_cores, prefetch ? ", prefetch" : "");
	cr_assert_gt(sum(&slow, TRAFFIC_MEM_READ) + sum(&slow, TRAFFIC_MEM_WRITE_ALLOCATE), 0, "%s", what);
	assert_same(&fast, &slow, UINT64_MAX, what);
	assert_same(&some, &slow, classes, what);
	cr_assert_eq(hierarchy_classes(s), classes);
	cr_assert_eq(hierarchy_lost(h) + hierarchy_lost(s), 0);
	reference_destroy(r);
	hierarchy_destroy(h);
	hierarchy_destroy(s);
}

/* Enough accesses to fill the largest cache and to wander on. */
static unsigned enough(const char *text)
{
	struct geometry geometry = parse(text);
	return 6000 + 8 * largest_lines(&geometry);
}

static void compare_all(unsigned n_cores, bool prefetch)
{
	for (size_t i = 0; i < COUNT(geometries); i++)
		for (size_t j = 0; j < COUNT(mixes); j++)
			compare(geometries[i], &mixes[j], n_cores, prefetch, enough(geometries[i]), i * 7 + j + n_cores);
}

Test(hierarchy, one_core_as_the_slow_simulator)
{
	compare_all(1, false);
}

Test(hierarchy, two_cores_as_the_slow_simulator)
{
	compare_all(2, false);
}

Test(hierarchy, three_cores_as_the_slow_simulator)
{
	compare_all(3, false);
}

Test(hierarchy, prefetch_as_the_slow_simulator)
{
	compare_all(1, true);
	compare_all(3, true);
}
