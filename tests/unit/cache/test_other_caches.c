#include "cache/other_caches.h"

#include "tests/reference/cache_reference.h"

#include <criterion/criterion.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define WHOS 4

static struct geometry parse(const char *text)
{
	struct geometry geometry;
	struct rf_error *error = geometry_parse(text, &geometry);
	cr_assert_null(error, "%s: %s", text, error ? error->message : "");
	return geometry;
}

/* ---- against the slow simulator, byte by byte ---- */

struct sums {
	struct other_bytes of[WHOS];
	unsigned line;
};

static void count(void *context, enum traffic event, uint32_t who, uint64_t line)
{
	struct sums *sums = context;
	(void)line;
	if (event < OTHER_EVENTS)
		sums->of[who].events[event] += sums->line;
}

static void count_through(void *context, uint32_t who, uint64_t line, unsigned n)
{
	struct sums *sums = context;
	(void)line;
	sums->of[who].through += n;
}

static uint64_t next_random(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return *state >> 33;
}

/* Accesses of 1 to 64 bytes anywhere in two address spaces, over the ends of lines too: each line
 * that they touch is an access of the slow simulator. */
static void compare(const char *text, uint64_t seed)
{
	const struct geometry geometry = parse(text);
	struct sums slow = {.line = geometry.line};
	struct reference *reference = reference_create(&geometry, false, count, &slow);
	struct other_caches *fast = other_caches_create(&geometry);
	reference_tell_through(reference, count_through);
	for (unsigned i = 0; i < 20000; i++) {
		const unsigned space = (unsigned)(next_random(&seed) % 2);
		const uint64_t address = 0x7f0000000000 + next_random(&seed) % 300000;
		const unsigned n = 1 + (unsigned)(next_random(&seed) % 64);
		const enum cache_access kind = next_random(&seed) % 3 ? CACHE_LOAD : CACHE_STORE;
		const unsigned core = (unsigned)(next_random(&seed) % 2);
		const uint32_t who = (uint32_t)(next_random(&seed) % WHOS);
		other_caches_access(fast, core, space, address, n, kind, who);
		for (uint64_t at = address; at < address + n;) {
			const uint64_t end = (at / geometry.line + 1) * geometry.line;
			const uint64_t to = end < address + n ? end : address + n;
			reference_access(reference, core,
					 (uint64_t)space << 52 | at / geometry.line, kind,
					 (unsigned)(at % geometry.line), (unsigned)(to - at), who);
			at = to;
		}
	}
	reference_finish(reference);
	other_caches_finish(fast);
	cr_assert_eq(other_caches_lost(fast), 0);
	for (uint32_t who = 0; who < WHOS; who++) {
		const struct other_bytes bytes = other_caches_bytes(fast, who);
		cr_assert_eq(memcmp(&bytes, &slow.of[who], sizeof(bytes)), 0, "%s, %u", text, who);
	}
	reference_destroy(reference);
	other_caches_destroy(fast);
}

Test(other_caches, as_the_slow_simulator)
{
	static const char *const texts[] = {
		"line=32,L1=8K:4,L2=64K:8",
		"L1=8K:4,L2=64K:8",
		("line=128,L1=16K:8:write-through:no-write-allocate,L2=64K:8:inclusive:private,"
		 "L3=192K:12:victim"),
		"line=128,L1=16K:8:write-through,L2=64K:8:inclusive",
		"line=256,L1=16K:4,L2=128K:16",
		"line=512,L1=32K:4,L2=128K:4:inclusive,L3=256K:8:victim",
	};
	for (size_t i = 0; i < COUNT(texts); i++)
		compare(texts[i], i + 1);
}

/* ---- what goes by lines of this machine ---- */

/* clzero writes 64 bytes: a quarter of a line of 256, two of 32; clflush cleans as much. */
Test(other_caches, lines_of_this_machine)
{
	const struct {
		const char *text;
		uint64_t zeroed, flushed; /* bytes that move */
	} rows[] = {
		{"line=32,L1=8K:4", 2 * 32, 2 * 32},
		{"L1=8K:4", 64, 64},
		{"line=256,L1=16K:4", 256, 256},
	};
	for (size_t i = 0; i < COUNT(rows); i++) {
		const struct geometry geometry = parse(rows[i].text);
		struct other_caches *caches = other_caches_create(&geometry);
		other_caches_access(caches, 0, 0, 0x1000 + 9, 1, CACHE_LINE_ZERO, 0);
		other_caches_access(caches, 0, 0, 0x2000, 64, CACHE_STORE, 1);
		other_caches_access(caches, 0, 0, 0x2000 + 9, 1, CACHE_FLUSH, 2);
		other_caches_finish(caches);
		cr_assert_eq(other_caches_bytes(caches, 0).events[TRAFFIC_MEM_NON_TEMPORAL],
			     rows[i].zeroed);
		cr_assert_eq(other_caches_bytes(caches, 1).events[TRAFFIC_MEM_WRITE_BACK],
			     rows[i].flushed);
		cr_assert_eq(other_caches_bytes(caches, 1).events[TRAFFIC_MEM_LEFT], 0);
		other_caches_destroy(caches);
	}
}

/* Four clzeros fill a line of 256 bytes: one line. */
Test(other_caches, zeroed_parts_are_combined)
{
	const struct geometry geometry = parse("line=256,L1=16K:4");
	struct other_caches *caches = other_caches_create(&geometry);
	for (unsigned i = 0; i < 400; i++)
		other_caches_access(caches, 0, 0, 0x100000 + 64 * i, 1, CACHE_LINE_ZERO, 0);
	other_caches_finish(caches);
	cr_assert_eq(other_caches_bytes(caches, 0).events[TRAFFIC_MEM_NON_TEMPORAL], 64 * 400);
	other_caches_destroy(caches);
}

/* Five lines that are stored to, of which a call uses four: emptied, nothing of it is written back;
 * looked ahead, nothing counts, and the call finds what it has used. */
Test(other_caches, emptied_and_filled)
{
	const struct geometry geometry = parse("line=256,L1=4K:4,L2=64K:8");
	struct other_caches *caches = other_caches_create(&geometry);
	for (unsigned i = 0; i < 5; i++)
		other_caches_access(caches, 0, 0, 0x10000 + 256 * i, 8, CACHE_STORE, 1);
	other_caches_look_ahead(caches);
	for (unsigned i = 0; i < 4; i++)
		other_caches_access(caches, 0, 0, 0x10000 + 256 * i, 8, CACHE_STORE, 2);
	other_caches_look_back(caches);
	const struct other_bytes first = other_caches_bytes(caches, 1);
	cr_expect_eq(first.events[TRAFFIC_MEM_WRITE_ALLOCATE], 5 * 256);
	cr_expect_eq(first.events[TRAFFIC_MEM_LEFT], 5 * 256);
	cr_expect_eq(first.events[TRAFFIC_MEM_WRITE_BACK], 0);
	for (int event = 0; event < OTHER_EVENTS; event++)
		cr_expect_eq(other_caches_bytes(caches, 2).events[event], 0, "%d", event);
	for (unsigned i = 0; i < 5; i++)
		other_caches_access(caches, 0, 0, 0x10000 + 256 * i, 8, CACHE_LOAD, 3);
	other_caches_finish(caches);
	cr_expect_eq(other_caches_bytes(caches, 3).events[TRAFFIC_MEM_READ], 256);
	cr_expect_eq(other_caches_bytes(caches, 2).events[TRAFFIC_MEM_LEFT], 0);
	other_caches_destroy(caches);
}
