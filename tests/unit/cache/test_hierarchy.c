#include "cache/hierarchy.h"
#include "tests/reference/cache_reference.h"

#include <criterion/criterion.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define WHOS 8
#define BASE UINT64_C(0x1fd5555640) /* a line, far up, of class 0 */

static const char *const event_names[N_TRAFFIC] = {
	"L2 read",
	"L2 write-allocate",
	"L2 write-back",
	"L3 read",
	"L3 write-allocate",
	"L3 write-back",
	"L3 clean victim",
	"memory read",
	"memory write-allocate",
	"memory write-back",
	"non-temporal",
	"evadable",
	"left",
	"conflict",
	"unknown conflict",
	"open L2 read",
	"open L2 write",
	"open L3 read",
	"open L3 write",
	"open memory read",
	"open memory write",
};

/* How many events there were, and the sum of their lines. */
struct counts {
	uint64_t through[WHOS][CACHE_CLASSES]; /* bytes */
	uint64_t n[N_TRAFFIC][WHOS][CACHE_CLASSES], lines[N_TRAFFIC][WHOS][CACHE_CLASSES];
};

static void count(void *context, enum traffic event, uint32_t who, uint64_t line)
{
	struct counts *counts = context;
	cr_assert_lt(who, WHOS);
	counts->n[event][who][line % CACHE_CLASSES]++;
	counts->lines[event][who][line % CACHE_CLASSES] += line;
}

static void count_through(void *context, uint32_t who, uint64_t line, unsigned n)
{
	struct counts *counts = context;
	cr_assert_lt(who, WHOS);
	counts->through[who][line % CACHE_CLASSES] += n;
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

struct access {
	unsigned core;
	uint64_t line;
	enum cache_access kind;
	unsigned first, n;
	uint32_t who;
};

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
	static const unsigned widths[] = {4, 8, 16, 32, 64};
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
		CACHE_LOAD,         CACHE_LOAD,  CACHE_LOAD,  CACHE_LOAD,      CACHE_STORE,
		CACHE_STORE,        CACHE_STORE, CACHE_STORE, CACHE_STORE,     CACHE_NON_TEMPORAL,
		CACHE_NON_TEMPORAL, CACHE_FLUSH, CACHE_CLEAN, CACHE_LINE_ZERO,
	};
	uint64_t near = next_random(random) % 4 ? next_random(random) % (span / 8 + 1)
						: next_random(random) % span;
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

/* Mixes are made for lines of 64 bytes: an access to a longer line goes to one of its parts, at
 * times to all of it; in a shorter line it is as far as it lies in it. */
static void spread(uint64_t *random, unsigned line, struct access *access)
{
	if (line > CACHE_LINE) {
		const bool whole = next_random(random) % 32 == 0;
		access->first += next_random(random) % (line / CACHE_LINE) * CACHE_LINE;
		access->first = whole ? 0 : access->first;
		access->n = whole ? line : access->n;
	} else if (line < CACHE_LINE) {
		access->first %= line;
		access->n = access->first + access->n > line ? line - access->first : access->n;
	}
}

static const struct mix mixes[] = {
	{"uniform", uniform}, {"everything", everything}, {"triad", triad},
	{"copy", copy},       {"conflicts", conflicts},   {"backwards", backwards},
};

/* ---- Fast against slow ---- */

static const char *const geometries[] = {
	"L1=4K:1",
	"L1=8K:2",
	"L1=32K:8:plru",
	"L1=48K:12",
	"L1=4K:1,L2=8K:1",
	"L1=4K:1,L2=16K:1:inclusive",
	"L1=8K:2,L2=32K:4",
	"L1=8K:2,L2=32K:4:inclusive",
	"L1=8K:2,L2=32K:8:victim",
	"L1=8K:2:plru,L2=32K:8:plru",
	"L1=8K:2,L2=48K:12:private",
	"L1=8K:2,L2=80K:20",
	"L1=8K:2,L2=128K:32:inclusive",
	"L1=4K:1,L2=8K:1,L3=16K:1",
	"L1=4K:1,L2=8K:1,L3=16K:1:inclusive",
	"L1=4K:1,L2=8K:1,L3=16K:1:victim",
	"L1=8K:2,L2=16K:4,L3=48K:12",
	"L1=8K:2,L2=16K:4,L3=48K:12:inclusive",
	"L1=8K:2,L2=16K:4,L3=48K:12:victim",
	"L1=8K:2,L2=16K:4:inclusive,L3=48K:12",
	"L1=8K:2,L2=16K:4:inclusive,L3=64K:16:inclusive",
	"L1=8K:2,L2=16K:4:inclusive,L3=60K:15:victim",
	"L1=8K:2,L2=16K:4:inclusive,L3=8K:2:victim",
	"L1=8K:2,L2=8K:2:victim,L3=32K:4",
	"L1=8K:2,L2=8K:2:victim,L3=32K:4:inclusive",
	"L1=8K:2,L2=8K:2:victim,L3=32K:4:victim",
	"L1=16K:4:plru,L2=32K:8:plru,L3=64K:16:plru",
	"L1=16K:4:plru,L2=32K:8:plru,L3=64K:16:plru:inclusive",
	"L1=16K:4:plru,L2=32K:8:plru:inclusive,L3=64K:16:plru:victim",
	"L1=8K:2,L2=24K:2,L3=72K:6",
	"L1=8K:2,L2=28K:1,L3=84K:3:victim",
	"L1=8K:2,L2=16K:4,L3=420K:15:victim",
	"L1=8K:2,L2=16K:4:private,L3=80K:20:private",
	"L1=8K:2,L2=16K:4:shared,L3=40K:10:shared",
	"L1=8K:2,L2=16K:4:shared:victim,L3=40K:10:inclusive",
	"L1=8K:2,L2=16K:4:shared:inclusive,L3=80K:20:victim",
	"L1=2K:1,L2=6K:1,L3=32K:8",
	"L1=512:8,L2=4K:64:victim",
	"L1=1K:2:plru,L2=24K:24:inclusive,L3=96K:48",
	"L1=48K:12,L2=256K:16,L3=512K:16:victim",
	"L1=32K:8:plru,L2=256K:8:plru,L3=640K:20:inclusive",
	"L1=4K:64:plru,L2=8K:64:plru,L3=64K:64:plru:victim",
	/* lines of other machines, and L1s that write through */
	"line=32,L1=8K:4",
	"line=32,L1=4K:2,L2=16K:4:inclusive,L3=32K:8:victim",
	"line=128,L1=16K:2,L2=64K:4:inclusive",
	"line=128,L1=16K:2:plru,L2=48K:6,L3=96K:6:victim",
	"line=256,L1=32K:2,L2=128K:8",
	"line=256,L1=64K:4,L2=256K:16:inclusive",
	"line=512,L1=32K:1,L2=128K:4:victim",
	"line=512,L1=2K:2,L2=30K:3,L3=64K:8:inclusive",
	"L1=8K:2:write-through,L2=32K:4:inclusive",
	"L1=8K:2:write-through:no-write-allocate,L2=32K:4:inclusive",
	"L1=8K:2:write-through,L2=16K:4:inclusive:private,L3=48K:12:victim",
	"L1=8K:2:plru:write-through:no-write-allocate,L2=16K:4:plru:inclusive:private,L3=48K:12:"
	"victim",
	"L1=8K:2:write-through:no-write-allocate,L2=16K:4:inclusive:shared,L3=48K:12:inclusive",
	"line=32,L1=8K:2:write-through,L2=16K:4:inclusive,L3=40K:10",
	"line=128,L1=16K:2:write-through:no-write-allocate,L2=32K:4:inclusive:private,L3=120K:15:"
	"victim",
	"line=256,L1=16K:1:write-through,L2=64K:4:inclusive:private",
	"line=512,L1=8K:4:write-through:no-write-allocate,L2=64K:8:inclusive,L3=64K:2:victim",
};

static uint64_t largest_lines(const struct geometry *geometry)
{
	uint64_t lines = 0;
	for (int i = 0; i < geometry->n_levels; i++)
		if (geometry->levels[i].bytes / geometry->line > lines)
			lines = geometry->levels[i].bytes / geometry->line;
	return lines;
}

static void assert_same(const struct counts *fast, const struct counts *slow, uint64_t classes,
			const char *what)
{
	for (int who = 0; who < WHOS; who++)
		for (int k = 0; k < CACHE_CLASSES; k++)
			cr_assert_eq(fast->through[who][k],
				     classes >> k & 1 ? slow->through[who][k] : 0,
				     "%s: bytes written through by %d, class %d", what, who, k);
	for (int event = 0; event < N_TRAFFIC; event++)
		for (int who = 0; who < WHOS; who++)
			for (int k = 0; k < CACHE_CLASSES; k++) {
				uint64_t n = classes >> k & 1 ? slow->n[event][who][k] : 0;
				uint64_t lines = classes >> k & 1 ? slow->lines[event][who][k] : 0;
				cr_assert(fast->n[event][who][k] == n &&
						  fast->lines[event][who][k] == lines,
					  "%s: %s of %d, class %d: %llu, truth %llu", what,
					  event_names[event], who, k,
					  (unsigned long long)fast->n[event][who][k],
					  (unsigned long long)n);
			}
}

static struct reference *reference_of(const struct geometry *geometry, bool prefetch,
				      struct counts *counts)
{
	struct reference *reference = reference_create(geometry, prefetch, count, counts);
	reference_tell_through(reference, count_through);
	return reference;
}

/* The slow one has no way to be emptied: it ends, and another one begins. */
static struct reference *reference_anew(struct reference *reference,
					const struct geometry *geometry, bool prefetch,
					struct counts *counts)
{
	reference_finish(reference);
	reference_destroy(reference);
	return reference_of(geometry, prefetch, counts);
}

/* Three hierarchies side by side: the slow one, all classes, and some. */
static void compare(const char *text, const struct mix *mix, unsigned n_cores, bool prefetch,
		    unsigned n_accesses, uint64_t seed)
{
	static struct counts slow, fast, some;
	struct geometry geometry = parse(text);
	uint64_t random = seed * 2 + 1,
		 classes = geometry_classes(&geometry, 1 << 5 | UINT64_C(1) << 62, prefetch);
	uint64_t span = largest_lines(&geometry) * 2 + 3;
	struct reference *r = reference_of(&geometry, prefetch, &slow);
	struct hierarchy *h = hierarchy_create(&geometry, 1, UINT64_MAX, prefetch, count, &fast);
	struct hierarchy *s = hierarchy_create(&geometry, n_cores, 1 << 5 | UINT64_C(1) << 62,
					       prefetch, count, &some);
	hierarchy_tell_open(h);
	hierarchy_tell_open(s);
	hierarchy_tell_through(h, count_through);
	hierarchy_tell_through(s, count_through);
	memset(&slow, 0, sizeof(slow));
	memset(&fast, 0, sizeof(fast));
	memset(&some, 0, sizeof(some));
	for (unsigned i = 0; i < n_accesses; i++) {
		struct access a;
		mix->make(&random, i, span, &a);
		spread(&random, geometry.line, &a);
		a.core = next_random(&random) / 8 % n_cores;
		a.who = next_random(&random) % WHOS;
		reference_access(r, a.core, a.line, a.kind, a.first, a.n, a.who);
		hierarchy_access(h, a.core, a.line, a.kind, a.first, a.n, a.who);
		hierarchy_access(s, a.core, a.line, a.kind, a.first, a.n, a.who);
		if (i == n_accesses / 2 &&
		    seed % 2) { /* the end of one program, and another begins */
			reference_finish(r);
			hierarchy_finish(h);
			hierarchy_finish(s);
		}
		if (seed % 3 == 0 && next_random(&random) % (n_accesses / 3) == 0) {
			r = reference_anew(r, &geometry, prefetch, &slow);
			hierarchy_empty(h);
			hierarchy_empty(s);
		}
	}
	reference_finish(r);
	hierarchy_finish(h);
	hierarchy_finish(s);
	char what[200];
	snprintf(what, sizeof(what), "%s, %s, %u cores%s", text, mix->name, n_cores,
		 prefetch ? ", prefetch" : "");
	cr_assert_gt(sum(&slow, TRAFFIC_MEM_READ) + sum(&slow, TRAFFIC_MEM_WRITE_ALLOCATE), 0, "%s",
		     what);
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
	return 3000 + 5 * largest_lines(&geometry);
}

static void compare_all(unsigned n_cores, bool prefetch)
{
	for (size_t i = 0; i < COUNT(geometries); i++)
		for (size_t j = 0; j < COUNT(mixes); j++)
			compare(geometries[i], &mixes[j], n_cores, prefetch, enough(geometries[i]),
				i * 7 + j + n_cores);
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

/* A geometry by chance; false: it is none (a level that is not larger than the one before). */
static bool random_geometry(uint64_t *random, char *text, size_t size)
{
	static const unsigned lines[] = {32, 64, 128, 256, 512},
			      ways[] = {1, 2, 3, 4, 5, 8, 12, 16, 20};
	static const char *const inclusions[] = {"", ":inclusive", ":victim"};
	static const char *const writes[] = {"", ":write-through",
					     ":write-through:no-write-allocate"};
	const unsigned line = lines[next_random(random) % COUNT(lines)];
	const int n_levels = 1 + (int)(next_random(random) % 3);
	const bool through = n_levels > 1 && next_random(random) % 2;
	size_t n = (size_t)snprintf(text, size, "line=%u", line);
	uint64_t sets = 1u << next_random(random) % 7;
	for (int i = 0; i < n_levels; i++) {
		const unsigned w = ways[next_random(random) % COUNT(ways)];
		const bool tree = !(w & (w - 1)) && next_random(random) % 3 == 0;
		const bool shared = i > 0 && (i == n_levels - 1 || next_random(random) % 4 == 0);
		const char *inclusion = i == 0 ? writes[through ? 1 + next_random(random) % 2 : 0]
					: i == 1 && through ? ":inclusive"
							    : inclusions[next_random(random) % 3];
		n += (size_t)snprintf(text + n, size - n, ",L%d=%llu:%u%s%s%s", i + 1,
				      (unsigned long long)sets * w * line, w, tree ? ":plru" : "",
				      inclusion,
				      i == 0   ? ""
				      : shared ? ":shared"
					       : ":private");
		sets *= 1 + next_random(random) % 4;
	}
	struct geometry geometry;
	struct rf_error *error = geometry_parse(text, &geometry);
	rf_error_destroy(error);
	return !error;
}

/* Lines of 32 to 512 bytes, levels, ways and writes by chance. */
Test(hierarchy, random_geometries_as_the_slow_simulator)
{
	uint64_t random = 77;
	unsigned n = 0;
	for (unsigned i = 0; n < 250; i++) {
		char text[200];
		if (!random_geometry(&random, text, sizeof(text)))
			continue;
		compare(text, &mixes[i % 2], 1 + i % 3, i % 5 == 0, enough(text), i);
		n++;
	}
}

/* ---- Known truths ---- */

static const char *const machines[] = {
	"L1=32K:8,L2=256K:8,L3=1M:16",
	"L1=48K:12,L2=256K:16,L3=1M:16:victim",
	"L1=32K:8:plru,L2=256K:8:plru,L3=960K:20:inclusive",
	"L1=32K:8,L2=512K:8:inclusive,L3=1M:16:victim",
	"L1=32K:8,L2=1M:16",
};
#define BIG 65536u /* lines: 4 MB, out of all caches */

struct run {
	struct hierarchy *h;
	struct counts counts;
	int n_levels;
};

static void run_begin(struct run *run, const char *text, bool prefetch)
{
	struct geometry geometry = parse(text);
	memset(&run->counts, 0, sizeof(run->counts));
	run->n_levels = geometry.n_levels;
	run->h = hierarchy_create(&geometry, 2, UINT64_MAX, prefetch, count, &run->counts);
}

static void run_end(struct run *run)
{
	hierarchy_finish(run->h);
	hierarchy_destroy(run->h);
}

static void assert_sum(const struct run *run, enum traffic event, uint64_t truth, const char *text)
{
	cr_assert_eq(sum(&run->counts, event), truth, "%s: %s %llu, truth %llu", text,
		     event_names[event], (unsigned long long)sum(&run->counts, event),
		     (unsigned long long)truth);
}

static void assert_who(const struct run *run, enum traffic event, unsigned who, uint64_t truth)
{
	uint64_t n = 0;
	for (int k = 0; k < CACHE_CLASSES; k++)
		n += run->counts.n[event][who][k];
	cr_assert_eq(n, truth, "%s of %u: %llu, truth %llu", event_names[event], who,
		     (unsigned long long)n, (unsigned long long)truth);
}

static struct run run; /* large */

/* 24 bytes an element without the write-allocate, 32 with it. */
Test(hierarchy_truth, triad)
{
	for (size_t m = 0; m < COUNT(machines); m++) {
		run_begin(&run, machines[m], false);
		for (unsigned i = 0; i < BIG * 8; i++) {
			hierarchy_access(run.h, 0, BASE + i / 8, CACHE_LOAD, i % 8 * 8, 8, 1);
			hierarchy_access(run.h, 0, 2 * BASE + i / 8, CACHE_LOAD, i % 8 * 8, 8, 2);
			hierarchy_access(run.h, 0, 3 * BASE + i / 8, CACHE_STORE, i % 8 * 8, 8, 3);
		}
		run_end(&run);
		assert_sum(&run, TRAFFIC_L2_READ, 2 * BIG, machines[m]);
		assert_sum(&run, TRAFFIC_L2_WRITE_ALLOCATE, BIG, machines[m]);
		assert_sum(&run, TRAFFIC_L3_READ, run.n_levels == 3 ? 2 * BIG : 0, machines[m]);
		assert_sum(&run, TRAFFIC_MEM_READ, 2 * BIG, machines[m]);
		assert_sum(&run, TRAFFIC_MEM_WRITE_ALLOCATE, BIG, machines[m]);
		assert_sum(&run, TRAFFIC_MEM_EVADABLE, BIG, machines[m]);
		cr_assert_eq(sum(&run.counts, TRAFFIC_MEM_WRITE_BACK) +
				     sum(&run.counts, TRAFFIC_MEM_LEFT),
			     BIG);
		cr_assert_leq(sum(&run.counts, TRAFFIC_MEM_LEFT), 32768); /* what the caches hold */
		assert_sum(&run, TRAFFIC_MEM_NON_TEMPORAL, 0, machines[m]);
		cr_assert_eq(run.counts.n[TRAFFIC_MEM_READ][1][9], BIG / 64);
		cr_assert_eq(run.counts.n[TRAFFIC_MEM_WRITE_ALLOCATE][3][9], BIG / 64);
	}
}

/* n doubles read one by one, and every k-th of them: so many lines, of any size. */
Test(hierarchy_truth, sums_over_lines_of_any_size)
{
	static const char *const texts[] = {"line=32,L1=32K:8,L2=256K:8", "L1=32K:8,L2=256K:8",
					    "line=128,L1=32K:8,L2=256K:8",
					    "line=256,L1=64K:4,L2=256K:16",
					    "line=512,L1=64K:4,L2=256K:16"};
	const unsigned n = 1 << 17; /* 1 MiB */
	for (size_t m = 0; m < COUNT(texts); m++)
		for (unsigned step = 1; step <= 256; step *= 2) {
			run_begin(&run, texts[m], false);
			const unsigned line = parse(texts[m]).line;
			const unsigned bytes = step * 8 < line ? line : step * 8;
			for (unsigned i = 0; i < n; i += step)
				hierarchy_access(run.h, 0, BASE + i * 8 / line, CACHE_LOAD,
						 i * 8 % line, 8, 0);
			run_end(&run);
			assert_sum(&run, TRAFFIC_L2_READ, n * 8 / bytes, texts[m]);
			assert_sum(&run, TRAFFIC_MEM_READ, n * 8 / bytes, texts[m]);
			assert_sum(&run, TRAFFIC_MEM_WRITE_BACK, 0, texts[m]);
		}
}

/* Stores of 8 bytes to all of an array: written whole, whatever a line is; and to all but the last
 * of each line: not. */
Test(hierarchy_truth, lines_of_any_size_that_are_written_whole)
{
	static const char *const texts[] = {"line=32,L1=32K:8,L2=256K:8", "L1=32K:8,L2=256K:8",
					    "line=128,L1=32K:8,L2=256K:8",
					    "line=512,L1=64K:4,L2=256K:16"};
	const unsigned n_lines = 4096;
	for (size_t m = 0; m < COUNT(texts); m++)
		for (int hole = 0; hole < 2; hole++) {
			run_begin(&run, texts[m], false);
			const unsigned line = parse(texts[m]).line;
			for (unsigned i = 0; i < n_lines * line; i += 8)
				if (!hole || i % line < line - 8)
					hierarchy_access(run.h, 0, BASE + i / line, CACHE_STORE,
							 i % line, 8, 0);
			run_end(&run);
			assert_sum(&run, TRAFFIC_MEM_WRITE_ALLOCATE, n_lines, texts[m]);
			assert_sum(&run, TRAFFIC_MEM_EVADABLE, hole ? 0 : n_lines, texts[m]);
			cr_assert_eq(sum(&run.counts, TRAFFIC_MEM_WRITE_BACK) +
					     sum(&run.counts, TRAFFIC_MEM_LEFT),
				     n_lines);
		}
}

/* An array that fits into L2 is stored to ten times, 8 bytes of every 64: each store's bytes reach
 * L2; L1 gets the lines if it allocates, and never writes one back. */
Test(hierarchy_truth, stores_that_are_written_through)
{
	static const char *const texts[] = {
		"line=128,L1=32K:8:write-through,L2=512K:8:inclusive:private,L3=2M:16:victim",
		"line=128,L1=32K:8:write-through:no-write-allocate,L2=512K:8:inclusive:private,"
		"L3=2M:16:victim"};
	const unsigned lines = 2048; /* 256 KiB */
	for (int no_allocate = 0; no_allocate < 2; no_allocate++) {
		run_begin(&run, texts[no_allocate], false);
		hierarchy_tell_through(run.h, count_through);
		for (unsigned i = 0; i < 10 * lines * 2; i++)
			hierarchy_access(run.h, 0, BASE + i / 2 % lines, CACHE_STORE, i % 2 * 64, 8,
					 3);
		run_end(&run);
		uint64_t through = 0;
		for (int k = 0; k < CACHE_CLASSES; k++)
			through += run.counts.through[3][k];
		cr_assert_eq(through, 10 * lines * 2 * 8);
		assert_sum(&run, TRAFFIC_L2_WRITE_ALLOCATE, no_allocate ? 0 : 10 * lines, "L1");
		assert_sum(&run, TRAFFIC_L2_WRITE_BACK, 0, "through");
		assert_sum(&run, TRAFFIC_L3_WRITE_ALLOCATE, lines, "through");
		assert_sum(&run, TRAFFIC_MEM_WRITE_ALLOCATE, lines, "through");
		assert_sum(&run, TRAFFIC_MEM_WRITE_BACK, 0, "through");
		assert_sum(&run, TRAFFIC_MEM_LEFT, lines, "through");
	}
}

/* Half the demand misses fetch a second line: the same lines move. */
Test(hierarchy_truth, prefetch_moves_the_same)
{
	for (size_t m = 0; m < COUNT(machines); m++) {
		run_begin(&run, machines[m], true);
		for (unsigned i = 0; i < BIG; i++) {
			hierarchy_access(run.h, 0, BASE + i, CACHE_LOAD, 0, 64, i % 2);
			hierarchy_access(run.h, 0, 2 * BASE + i, CACHE_STORE, 0, 64, 2 + i % 2);
		}
		run_end(&run);
		assert_sum(&run, TRAFFIC_L2_READ, BIG, machines[m]);
		assert_sum(&run, TRAFFIC_MEM_READ, BIG, machines[m]);
		assert_sum(&run, TRAFFIC_MEM_WRITE_ALLOCATE, BIG, machines[m]);
		cr_assert_eq(run.counts.n[TRAFFIC_MEM_READ][1][3], 0, "the first of a pair misses");
		cr_assert_eq(run.counts.n[TRAFFIC_MEM_READ][0][3], BIG / 64);
	}
}

Test(hierarchy_truth, copy_past_the_caches)
{
	for (size_t m = 0; m < COUNT(machines); m++) {
		run_begin(&run, machines[m], false);
		for (unsigned i = 0; i < BIG * 4; i++) {
			hierarchy_access(run.h, 0, BASE + i / 4, CACHE_LOAD, i % 4 * 16, 16, 1);
			hierarchy_access(run.h, 0, 2 * BASE + i / 4, CACHE_NON_TEMPORAL, i % 4 * 16,
					 16, 2);
		}
		run_end(&run);
		assert_sum(&run, TRAFFIC_MEM_READ, BIG, machines[m]);
		assert_sum(&run, TRAFFIC_MEM_NON_TEMPORAL, BIG, machines[m]);
		assert_sum(&run, TRAFFIC_MEM_WRITE_ALLOCATE, 0, machines[m]);
		assert_sum(&run, TRAFFIC_MEM_WRITE_BACK, 0, machines[m]);
		assert_sum(&run, TRAFFIC_MEM_LEFT, 0, machines[m]);
		assert_sum(&run, TRAFFIC_L2_WRITE_ALLOCATE, 0, machines[m]);
	}
}

/* Sweeps of an array that fits: read once, written back once. */
Test(hierarchy_truth, an_array_in_the_last_level)
{
	const unsigned lines = 6000;
	for (size_t m = 0; m < COUNT(machines); m++) {
		run_begin(&run, machines[m], false);
		for (unsigned i = 0; i < 10 * lines; i++)
			hierarchy_access(run.h, 0, BASE + i % lines, CACHE_STORE, 8, 8, 1);
		run_end(&run);
		assert_sum(&run, TRAFFIC_MEM_WRITE_ALLOCATE, lines, machines[m]);
		assert_sum(&run, TRAFFIC_MEM_WRITE_BACK, 0, machines[m]);
		assert_sum(&run, TRAFFIC_MEM_LEFT, lines, machines[m]);
		assert_sum(&run, TRAFFIC_MEM_EVADABLE, 0, machines[m]);
		assert_sum(&run, TRAFFIC_L2_WRITE_ALLOCATE, 10 * lines, machines[m]);
		cr_assert_geq(sum(&run.counts, TRAFFIC_L2_WRITE_BACK), 9 * lines);
	}
}

/* Written once by 1, then read ten times by 2 from a victim L3: each line goes down changed once,
 * and clean ever after.  LRU evicts all but the last 16384 lines of each sweep. */
Test(hierarchy_truth, written_once_read_often_from_a_victim_cache)
{
	const unsigned l2 = 16384;
	run_begin(&run, "L1=48K:12,L2=1M:16,L3=32M:16:victim", false);
	for (unsigned i = 0; i < BIG; i++)
		hierarchy_access(run.h, 0, BASE + i, CACHE_STORE, 0, 64, 1);
	for (unsigned i = 0; i < 10 * BIG; i++)
		hierarchy_access(run.h, 0, BASE + i % BIG, CACHE_LOAD, 0, 64, 2);
	run_end(&run);
	const struct {
		enum traffic event;
		uint64_t truths[2];
	} rows[] = {
		/* of 1 and of 2 */
		{TRAFFIC_L2_READ, {0, 10 * BIG}},
		{TRAFFIC_L2_WRITE_ALLOCATE, {BIG, 0}},
		{TRAFFIC_L2_WRITE_BACK, {BIG, 0}},
		{TRAFFIC_L3_READ, {0, 10 * BIG}},
		{TRAFFIC_L3_WRITE_ALLOCATE, {BIG, 0}},
		{TRAFFIC_L3_WRITE_BACK, {BIG, 0}},
		{TRAFFIC_L3_CLEAN_VICTIM, {0, 10 * BIG - l2}},
		{TRAFFIC_MEM_READ, {0, 0}},
		{TRAFFIC_MEM_WRITE_ALLOCATE, {BIG, 0}},
		{TRAFFIC_MEM_WRITE_BACK, {0, 0}},
		{TRAFFIC_MEM_NON_TEMPORAL, {0, 0}},
		{TRAFFIC_MEM_EVADABLE, {BIG, 0}},
		{TRAFFIC_MEM_LEFT, {BIG, 0}},
	};
	for (size_t i = 0; i < COUNT(rows); i++) {
		assert_who(&run, rows[i].event, 1, rows[i].truths[0]);
		assert_who(&run, rows[i].event, 2, rows[i].truths[1]);
		assert_sum(&run, rows[i].event, rows[i].truths[0] + rows[i].truths[1],
			   "written once");
	}
}

/* The same with other sizes: a debt is paid to memory once, when the L3 loses the line, for its
 * writer. */
Test(hierarchy_truth, a_debt_is_paid_once)
{
	const unsigned lines = 6000;
	run_begin(&run, machines[1], false);
	for (unsigned i = 0; i < lines; i++)
		hierarchy_access(run.h, 0, BASE + i, CACHE_STORE, 0, 8, 1);
	for (unsigned i = 0; i < 5 * lines; i++)
		hierarchy_access(run.h, 0, BASE + i % lines, CACHE_LOAD, 0, 8, 2 + i % 2);
	for (unsigned i = 0; i < 100; i++) /* some again, by another */
		hierarchy_access(run.h, 0, BASE + i, CACHE_STORE, 0, 8, 4);
	for (unsigned i = 0; i < BIG; i++)
		hierarchy_access(run.h, 0, 2 * BASE + i, CACHE_LOAD, 0, 8, 5);
	run_end(&run);
	assert_who(&run, TRAFFIC_L3_WRITE_BACK, 1, lines);
	assert_who(&run, TRAFFIC_L3_WRITE_BACK, 4, 100);
	assert_sum(&run, TRAFFIC_L3_WRITE_BACK, lines + 100, machines[1]);
	assert_who(&run, TRAFFIC_MEM_WRITE_BACK, 1, lines - 100);
	assert_who(&run, TRAFFIC_MEM_WRITE_BACK, 4, 100);
	assert_sum(&run, TRAFFIC_MEM_LEFT, 0, machines[1]);
	assert_who(&run, TRAFFIC_L3_CLEAN_VICTIM, 2, 5 * lines / 2);
	assert_who(&run, TRAFFIC_L3_CLEAN_VICTIM, 3, 5 * lines / 2);
}

/* One line more than ways, a set apart: LRU misses each time. */
Test(hierarchy_truth, conflicting_strides)
{
	for (unsigned stride = 1; stride <= 128; stride++)
		for (unsigned n = 11; n <= 14; n++) {
			run_begin(&run, "L1=48K:12,L2=2M:16,L3=6M:12", false);
			for (unsigned i = 0; i < 10 * n; i++)
				hierarchy_access(run.h, 0, BASE + i % n * stride, CACHE_LOAD, 0, 8,
						 0);
			run_end(&run);
			bool conflict = stride % 64 == 0 && n > 12;
			assert_sum(&run, TRAFFIC_L2_READ, conflict ? 10 * n : n, "stride");
			assert_sum(&run, TRAFFIC_L3_READ, n, "stride");
		}
}

/* Both cores read all: memory is read once. */
Test(hierarchy_truth, shared_reads)
{
	for (size_t m = 0; m < COUNT(machines); m++) {
		run_begin(&run, machines[m], false);
		for (unsigned i = 0; i < 2 * BIG; i++)
			hierarchy_access(run.h, i % 2, BASE + i / 2, CACHE_LOAD, 0, 64, i % 2);
		run_end(&run);
		assert_sum(&run, TRAFFIC_L2_READ, 2 * BIG, machines[m]);
		assert_sum(&run, TRAFFIC_MEM_READ, BIG, machines[m]);
		cr_assert_eq(run.counts.n[TRAFFIC_MEM_READ][1][7], 0);
		assert_sum(&run, TRAFFIC_MEM_WRITE_BACK, 0, machines[m]);
	}
}

/* Two cores store to one line in turn: it goes to and fro through the shared level, and memory sees
 * nothing. */
Test(hierarchy_truth, false_sharing)
{
	for (size_t m = 0; m < COUNT(machines); m++) {
		run_begin(&run, machines[m], false);
		for (unsigned i = 0; i < 1000; i++)
			hierarchy_access(run.h, i % 2, BASE, CACHE_STORE, i % 2 * 8, 8, i % 2);
		run_end(&run);
		assert_sum(&run, TRAFFIC_L2_WRITE_ALLOCATE, 1000, machines[m]);
		assert_sum(&run, TRAFFIC_L2_WRITE_BACK, 999, machines[m]);
		assert_sum(&run, TRAFFIC_L3_WRITE_ALLOCATE, run.n_levels == 3 ? 1000 : 0,
			   machines[m]);
		assert_sum(&run, TRAFFIC_L3_WRITE_BACK, run.n_levels == 3 ? 999 : 0, machines[m]);
		assert_sum(&run, TRAFFIC_MEM_WRITE_ALLOCATE, 1, machines[m]);
		assert_sum(&run, TRAFFIC_MEM_WRITE_BACK, 0, machines[m]);
		assert_sum(&run, TRAFFIC_MEM_LEFT, 1, machines[m]);
		cr_assert_eq(run.counts.n[TRAFFIC_MEM_LEFT][1][BASE % 64], 1, "the last writer's");
	}
}

Test(hierarchy_truth, flushed_and_cleaned_lines)
{
	for (size_t m = 0; m < COUNT(machines); m++) {
		run_begin(&run, machines[m], false);
		hierarchy_access(run.h, 0, BASE, CACHE_STORE, 0, 8, 1);
		hierarchy_access(run.h, 1, BASE, CACHE_FLUSH, 0, 1, 2); /* from another core */
		hierarchy_access(run.h, 0, BASE, CACHE_LOAD, 0, 8, 3);  /* read again */
		hierarchy_access(run.h, 0, BASE + 1, CACHE_STORE, 0, 8, 4);
		hierarchy_access(run.h, 0, BASE + 1, CACHE_CLEAN, 0, 1, 5);
		hierarchy_access(run.h, 0, BASE + 1, CACHE_CLEAN, 0, 1,
				 5); /* nothing left to write */
		hierarchy_access(run.h, 0, BASE + 1, CACHE_LOAD, 0, 8, 6); /* still there */
		run_end(&run);
		assert_sum(&run, TRAFFIC_MEM_WRITE_BACK, 2, machines[m]);
		cr_assert_eq(run.counts.n[TRAFFIC_MEM_WRITE_BACK][1][BASE % 64], 1);
		cr_assert_eq(run.counts.n[TRAFFIC_MEM_WRITE_BACK][4][BASE % 64 + 1], 1);
		assert_sum(&run, TRAFFIC_MEM_READ, 1, machines[m]);
		assert_sum(&run, TRAFFIC_MEM_LEFT, 0, machines[m]);
	}
}

/* Lines that are written in part, whole, or read before they are. */
Test(hierarchy_truth, evadable_write_allocates)
{
	run_begin(&run, machines[0], false);
	for (unsigned i = 0; i < 64; i++) {
		hierarchy_access(run.h, 0, BASE + i, CACHE_STORE, 0, 32, 1);
		if (i % 4 == 1)
			hierarchy_access(run.h, 0, BASE + i, CACHE_LOAD, 40, 4,
					 2); /* not written yet */
		if (i % 4 == 2)
			hierarchy_access(run.h, 0, BASE + i, CACHE_LOAD, 8, 8,
					 2); /* written already */
		if (i % 4 != 3)
			hierarchy_access(run.h, 0, BASE + i, CACHE_STORE, 32, 32, 3);
		hierarchy_access(run.h, 0, BASE + i, CACHE_STORE, 0, 32, 4); /* no second time */
	}
	run_end(&run);
	assert_sum(&run, TRAFFIC_MEM_WRITE_ALLOCATE, 64, machines[0]);
	assert_sum(&run, TRAFFIC_MEM_EVADABLE, 32, machines[0]);
	for (int k = 0; k < 64; k++)
		cr_assert_eq(run.counts.n[TRAFFIC_MEM_EVADABLE][1][k],
			     (k - BASE % 64) % 4 % 2 == 0);
}

/* A buffer that is not filled is a line of its own when it is needed for another, or at the end. */
Test(hierarchy_truth, partial_non_temporal_lines)
{
	run_begin(&run, machines[0], false);
	for (unsigned i = 0; i < 100; i++)
		hierarchy_access(run.h, 0, BASE + i * 64, CACHE_NON_TEMPORAL, 0, 32, 1);
	assert_sum(&run, TRAFFIC_MEM_NON_TEMPORAL, 90, machines[0]);
	for (unsigned i = 0; i < 100; i++) /* ten are still there and are filled */
		hierarchy_access(run.h, 0, BASE + (99 - i) * 64, CACHE_NON_TEMPORAL, 32, 32, 2);
	hierarchy_access(run.h, 0, 2 * BASE, CACHE_NON_TEMPORAL, 0, 16, 3);
	hierarchy_access(run.h, 1, 2 * BASE, CACHE_LOAD, 0, 16,
			 4); /* written, then read from memory */
	hierarchy_access(run.h, 0, 3 * BASE, CACHE_LINE_ZERO, 0, 1, 5);
	run_end(&run);
	assert_sum(&run, TRAFFIC_MEM_NON_TEMPORAL, 90 + 10 + 90 + 1 + 1, machines[0]);
	assert_sum(&run, TRAFFIC_MEM_READ, 1, machines[0]);
	assert_sum(&run, TRAFFIC_MEM_LEFT, 0, machines[0]);
}

/* The same lines in two address spaces are two. */
Test(hierarchy_truth, address_spaces)
{
	run_begin(&run, machines[1], false);
	for (unsigned i = 0; i < 100; i++) {
		hierarchy_access(run.h, 0, BASE + i, CACHE_STORE, 0, 8, 1);
		hierarchy_access(run.h, 0, (UINT64_C(5) << 52) + BASE + i, CACHE_STORE, 0, 8, 2);
	}
	run_end(&run);
	assert_sum(&run, TRAFFIC_MEM_LEFT, 200, machines[1]);
	cr_assert_eq(run.counts.n[TRAFFIC_MEM_LEFT][2][20], 2);
	cr_assert_eq(run.counts.lines[TRAFFIC_MEM_LEFT][2][20] >> 52, 10);
}

/* More regions than there are numbers for: the rest is said to be lost, and the others go on. */
Test(hierarchy_truth, what_cannot_be_told_apart_is_lost)
{
	run_begin(&run, machines[1], false);
	const uint64_t most = (1 << 18) - 1;
	for (uint64_t i = 0; i < most + 1000; i++)
		hierarchy_access(run.h, 0, i << 20, CACHE_LOAD, 0, 8, 1);
	cr_assert_eq(hierarchy_lost(run.h), 1000);
	hierarchy_access(run.h, 0, UINT64_C(100) << 20 | 64, CACHE_LOAD, 0, 8, 2);
	cr_assert_eq(hierarchy_lost(run.h), 1000);
	run_end(&run);
	assert_sum(&run, TRAFFIC_MEM_READ, most + 1, machines[1]);
}

/* Cores come as they are used. */
Test(hierarchy_truth, many_cores)
{
	run_begin(&run, machines[0], false);
	for (unsigned core = 0; core < 100; core++)
		hierarchy_access(run.h, core, BASE, CACHE_LOAD, 0, 8, 1);
	hierarchy_access(run.h, 50, BASE, CACHE_STORE, 0, 8, 2);
	for (unsigned core = 0; core < 100; core++)
		hierarchy_access(run.h, core, BASE, CACHE_LOAD, 0, 8, 3);
	run_end(&run);
	assert_sum(&run, TRAFFIC_MEM_READ, 1, machines[0]);
	assert_sum(&run, TRAFFIC_L2_READ, 100 + 99, machines[0]);
	assert_sum(&run, TRAFFIC_L3_WRITE_BACK, 1, machines[0]);
	assert_sum(&run, TRAFFIC_MEM_LEFT, 1, machines[0]);
}

/* A last level of 480 MB, a sixteenth of it simulated. */
Test(hierarchy_truth, memory_is_bounded)
{
	struct geometry geometry = parse("L1=48K:12,L2=2M:16,L3=480M:16:victim");
	struct counts *counts = calloc(1, sizeof(*counts));
	const struct mallinfo2 before = mallinfo2();
	struct hierarchy *h = hierarchy_create(&geometry, 8, 0xf, false, count, counts);
	for (unsigned core = 0; core < 8; core++)
		hierarchy_access(h, core, 0, CACHE_LOAD, 0, 8, 0);
	const struct mallinfo2 after = mallinfo2();
	if (!before.arena && !after.arena && !after.hblkhd)
		cr_skip_test("this allocator does not tell what it has given, as a sanitizer's");
	const size_t bytes = after.uordblks + after.hblkhd - before.uordblks - before.hblkhd;
	cr_assert_lt(bytes, 20 << 20);
	cr_assert_gt(bytes, 1 << 20);
	hierarchy_destroy(h);
	free(counts);
}

/* Random accesses to more lines than a level has, to a few of them, and to those of before. */
static void access_some(struct hierarchy *h, uint64_t seed)
{
	uint64_t random = 2 * seed + 1;
	const unsigned n = 1 + next_random(&random) % 100000;
	for (unsigned i = 0; i < n; i++)
		hierarchy_access(h, next_random(&random) % 2, BASE + next_random(&random) % 200000,
				 next_random(&random) % 3 ? CACHE_LOAD : CACHE_STORE, 0, 8, 1);
}

/* Caches so large that their memory is given back when they are emptied, as small ones that are
 * made zero: what comes then is as in new ones. */
Test(hierarchy_truth, large_caches_are_empty_when_emptied)
{
	struct geometry geometry = parse("L1=48K:12,L2=2M:16,L3=64M:16");
	static struct counts used, new;
	struct hierarchy *h = hierarchy_create(&geometry, 2, UINT64_MAX, false, count, &used);
	for (uint64_t seed = 0; seed < 12; seed++) {
		struct hierarchy *n =
			hierarchy_create(&geometry, 2, UINT64_MAX, false, count, &new);
		memset(&used, 0, sizeof(used));
		memset(&new, 0, sizeof(new));
		access_some(h, seed);
		access_some(n, seed);
		hierarchy_empty(h);
		hierarchy_finish(n);
		assert_same(&used, &new, UINT64_MAX, "emptied");
		hierarchy_destroy(n);
	}
	hierarchy_destroy(h);
}
