/* Through the filter the hierarchy notes what it notes without it. */
#include "tests/unit/splitmix.h"
#include "tracer/traffic/access_filter.h"

#include <criterion/criterion.h>
#include <string.h>

#define WHOS 8
#define CORES 3
#define STEPS 200000

typedef uint64_t counts[N_TRAFFIC][WHOS];

static void note(void *context, enum traffic event, uint32_t who, uint64_t line)
{
	(void)line;
	(*(counts *)context)[event][who]++;
}

struct access {
	uint64_t line;
	enum cache_access kind;
	unsigned first, n;
	uint32_t who;
};

/* Few classes, so that lines meet; runs over neighbouring bytes, lines that come back soon or late.
 */
static struct access choose(uint64_t *state, uint64_t *lines)
{
	const uint64_t random = random_number(state), k = random % 6;
	static const enum cache_access kinds[16] = {
		CACHE_LOAD,  CACHE_LOAD,  CACHE_LOAD,  CACHE_LOAD,  CACHE_LOAD,  CACHE_LOAD,
		CACHE_LOAD,  CACHE_STORE, CACHE_STORE, CACHE_STORE, CACHE_STORE, CACHE_STORE,
		CACHE_STORE, CACHE_STORE, CACHE_LOAD,  CACHE_LOAD};
	static const enum cache_access rare[4] = {CACHE_NON_TEMPORAL, CACHE_FLUSH, CACHE_CLEAN,
						  CACHE_LINE_ZERO};
	if ((random >> 8) % 8 == 0)
		lines[k] = (random >> 16) % 3 + 64 * ((random >> 24) % 40);
	const unsigned n = 1u << (random >> 32) % 7,
		       first = (unsigned)((random >> 40) % (64 / n)) * n;
	return (struct access){
		.line = lines[k],
		.kind = (random >> 48) % 128 == 0 ? rare[(random >> 56) % 4]
						  : kinds[(random >> 56) % 16],
		.first = first,
		.n = n,
		.who = (uint32_t)(random >> 60) % WHOS,
	};
}

static void compare(const char *text, bool prefetch, uint64_t seed)
{
	static counts plain, filtered;
	static struct access_filter filters[CORES];
	struct geometry geometry;
	uint64_t state = seed, lines[6] = {0};
	cr_assert_null(geometry_parse(text, &geometry), "%s", text);
	const bool on = access_filter_suits(&geometry, prefetch);
	memset(plain, 0, sizeof(plain));
	memset(filtered, 0, sizeof(filtered));
	struct hierarchy *one = hierarchy_create(&geometry, CORES, ~0ull, prefetch, note, &plain);
	struct hierarchy *other =
		hierarchy_create(&geometry, CORES, ~0ull, prefetch, note, &filtered);
	unsigned core = 0;
	for (unsigned i = 0; i < CORES; i++)
		access_filter_init(&filters[i], other, i, on);
	for (int i = 0; i < STEPS; i++) {
		const struct access access = choose(&state, lines);
		hierarchy_access(one, core, access.line, access.kind, access.first, access.n,
				 access.who);
		access_filter_access(&filters[core], access.line, access.kind, access.first,
				     access.n, access.who);
		if (random_number(&state) % 500 == 0) {
			access_filter_end(&filters[core]);
			core = (unsigned)(random_number(&state) % CORES);
		}
	}
	access_filter_end(&filters[core]);
	hierarchy_finish(one);
	hierarchy_finish(other);
	for (int event = 0; event < N_TRAFFIC; event++)
		for (int who = 0; who < WHOS; who++)
			cr_assert_eq(plain[event][who], filtered[event][who],
				     "%s, seed %d: event %d, who %d: %d, not %d", text, (int)seed,
				     event, who, (int)filtered[event][who], (int)plain[event][who]);
	hierarchy_destroy(one);
	hierarchy_destroy(other);
}

static const struct {
	const char *text;
	bool suits;
} geometries[] = {
	{"L1=16K:4,L2=32K:8,L3=128K:16", true},
	{"L1=32K:8,L2=64K:8,L3=256K:16:victim", true},
	{"L1=48K:12,L2=64K:8", true},
	{"L1=32K:8:plru,L2=64K:8:plru,L3=128K:16:plru", true},
	{"L1=32K:8:plru,L2=64K:8,L3=256K:16:victim", true},
	{"L1=16K:4:plru,L2=32K:8:plru,L3=128K:16:plru", false},
	{"L1=32K:4,L2=64K:8,L3=192K:12", true},
	{"L1=16K:4,L2=32K:8,L3=128K:16:inclusive", true},
	{"L1=32K:8,L2=64K:8:inclusive,L3=64K:8:victim", true},
	{"L1=16K:4,L2=24K:6:inclusive,L3=64K:16:victim", true},
	{"L1=32K:8:plru,L2=64K:8:plru:inclusive,L3=80K:10:inclusive", true},
	{"L1=16K:4,L2=20K:5:inclusive", true},
	{"L1=8K:2,L2=32K:8,L3=128K:16", false},
	{"L1=8K:4,L2=32K:8,L3=128K:16", false},
};

Test(access_filter, changes_no_count)
{
	for (size_t i = 0; i < sizeof(geometries) / sizeof(geometries[0]); i++)
		for (uint64_t seed = 1; seed <= 3; seed++)
			compare(geometries[i].text, seed == 3, seed);
}

Test(access_filter, is_used_where_it_is_exact)
{
	struct geometry geometry;
	for (size_t i = 0; i < sizeof(geometries) / sizeof(geometries[0]); i++) {
		cr_assert_null(geometry_parse(geometries[i].text, &geometry));
		cr_expect_eq(access_filter_suits(&geometry, false), geometries[i].suits, "%s",
			     geometries[i].text);
	}
}
