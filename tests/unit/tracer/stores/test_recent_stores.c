/* Loads behind stores: by rules, and at random against a list of all accesses. */
#include "tests/unit/assert_ok.h"
#include "tests/unit/splitmix.h"
#include "tracer/stores/recent_stores.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define DATA 0x100000

static const char operands[64]; /* whose addresses tell operands apart */

static struct recent_stores *recent;
static struct store_pairs *pairs;

static void begin(void)
{
	recent = calloc(1, sizeof(*recent));
	pairs = store_pairs_create();
	cr_assert(recent && pairs);
	recent_stores_clear(recent);
}

enum how { LOADS = 1, STORES = 2, UPDATES = LOADS | STORES };

/* An access of instruction `at`, which is its account too, in the block of that number. */
static void access_in(uint32_t block, uint32_t at, enum how how, uint64_t address, uint32_t bytes)
{
	const struct ordered_access access = {.operand = &operands[2 * at + (how == STORES)],
					      .block = block,
					      .who = at,
					      .offset = at,
					      .address = address,
					      .bytes = bytes,
					      .loads = how & LOADS,
					      .stores = how & STORES};
	recent_stores_take(recent, pairs, &access);
}

static void load(uint32_t at, uint64_t address, uint32_t bytes)
{
	access_in(1, at, LOADS, address, bytes);
}

static void store(uint32_t at, uint64_t address, uint32_t bytes)
{
	access_in(1, at, STORES, address, bytes);
}

static void place(void *context, uint32_t who, uint32_t *module, uint64_t *offset)
{
	*module = 0;
	*offset = who;
	(void)context;
}

static struct profile *end(void)
{
	struct profile *profile = profile_create();
	recent_stores_end(recent, pairs);
	assert_ok(store_pairs_save(pairs, profile, place, NULL));
	store_pairs_destroy(pairs);
	free(recent);
	return profile;
}

Test(recent_stores, what_a_load_finds)
{
	static const struct {
		const char *what;
		uint64_t store, load;
		uint32_t store_bytes, load_bytes;
		uint64_t forwarded, shifted, blocked, aliased;
	} rows[] = {
		{"the same", DATA, DATA, 8, 8, 1, 0, 0, 0},
		{"its lower half", DATA, DATA, 8, 4, 1, 0, 0, 0},
		{"its upper half", DATA, DATA + 4, 8, 4, 0, 1, 0, 0},
		{"its first byte", DATA, DATA, 8, 1, 0, 1, 0, 0},
		{"more", DATA, DATA, 4, 8, 0, 0, 1, 0},
		{"a part, from before", DATA + 4, DATA, 8, 8, 0, 0, 1, 0},
		{"its neighbour", DATA, DATA + 8, 8, 8, 0, 0, 0, 0},
		{"4 KiB away", DATA, DATA + 4096, 8, 8, 0, 0, 0, 1},
		{"64 KiB and a part away", DATA + 65536, DATA + 4, 8, 8, 0, 0, 0, 1},
		{"4 KiB and a store away", DATA, DATA + 4096 + 8, 8, 8, 0, 0, 0, 0},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		begin();
		store(1, rows[i].store, rows[i].store_bytes);
		load(2, rows[i].load, rows[i].load_bytes);
		struct profile *profile = end();
		const bool any =
			rows[i].forwarded + rows[i].shifted + rows[i].blocked + rows[i].aliased;
		cr_assert_eq(profile->n_store_loads, any, "%s", rows[i].what);
		const struct profile_store_load *row = profile->store_loads;
		if (any) {
			cr_expect(row->offset == 2 && row->store_offset == 1 && row->looked == 1);
			cr_expect(row->forwarded == rows[i].forwarded &&
					  row->shifted == rows[i].shifted &&
					  row->blocked == rows[i].blocked &&
					  row->aliased == rows[i].aliased,
				  "%s", rows[i].what);
		}
		profile_destroy(profile);
	}
}

/* Two stores make up what is loaded, and the last one counts; the next turn's load comes behind it
 * too. */
Test(recent_stores, the_last_store_decides)
{
	begin();
	for (int turn = 0; turn < 10; turn++) {
		load(1, DATA, 8);
		store(2, DATA, 4);
		store(3, DATA + 4, 4);
	}
	struct profile *profile = end();
	cr_assert_eq(profile->n_store_loads, 1);
	cr_expect_eq(profile->store_loads[0].store_offset, 3);
	cr_expect_eq(profile->store_loads[0].looked, 10);
	cr_expect_eq(profile->store_loads[0].blocked, 9);
	cr_expect_eq(profile->store_loads[0].since, 0);
	profile_destroy(profile);
}

/* The record of a store may come before that of a load that stands before it: of a place that moves
 * on, no load comes behind it. */
Test(recent_stores, a_block_is_put_in_order)
{
	begin();
	for (uint64_t turn = 0; turn < 10; turn++) {
		store(2, DATA + 8 * turn, 8);
		load(1, DATA + 8 * turn, 8);
	}
	struct profile *profile = end();
	cr_expect_eq(profile->n_store_loads, 0);
	profile_destroy(profile);
}

/* a[i] = a[i - 3]: two executions of the store lie between. */
Test(recent_stores, executions_in_between_are_counted)
{
	begin();
	for (uint64_t turn = 0; turn < 103; turn++) {
		load(1, DATA + 8 * turn, 8);
		store(2, DATA + 8 * (turn + 3), 8);
	}
	struct profile *profile = end();
	cr_assert_eq(profile->n_store_loads, 1);
	cr_expect_eq(profile->store_loads[0].forwarded, 100);
	cr_expect_eq(profile->store_loads[0].since, 200);
	profile_destroy(profile);
}

Test(recent_stores, those_that_left_the_queue_are_gone)
{
	begin();
	store(1, DATA, 8);
	for (uint32_t i = 0; i < RECENT_STORES - 1; i++)
		access_in(2 + i, 2, STORES, DATA + 64 * (i + 1), 8);
	access_in(200, 3, LOADS, DATA, 8);
	access_in(201, 2, STORES, DATA + 0x900, 8);
	access_in(202, 3, LOADS, DATA, 8);
	struct profile *profile = end();
	cr_assert_eq(profile->n_store_loads, 1);
	cr_expect_eq(profile->store_loads[0].store_offset, 1);
	cr_expect_eq(profile->store_loads[0].looked, 2);
	cr_expect_eq(profile->store_loads[0].forwarded, 1);
	profile_destroy(profile);
}

/* A counter in memory: each execution gets what the one before has stored. */
Test(recent_stores, an_update_comes_behind_itself)
{
	begin();
	for (int turn = 0; turn < 10; turn++)
		access_in(1, 1, UPDATES, DATA, 8);
	struct profile *profile = end();
	cr_assert_eq(profile->n_store_loads, 1);
	cr_expect_eq(profile->store_loads[0].offset, 1);
	cr_expect_eq(profile->store_loads[0].store_offset, 1);
	cr_expect_eq(profile->store_loads[0].looked, 10);
	cr_expect_eq(profile->store_loads[0].forwarded, 9);
	cr_expect_eq(profile->store_loads[0].since, 0);
	profile_destroy(profile);
}

/* ---- at random ---- */

#define ACCESSES 2000

struct access {
	uint64_t address;
	uint32_t bytes, who;
	enum how how;
};

/* Goes back over all accesses, up to the stores that a queue holds. */
static void expect_load(const struct access *all, size_t at, uint64_t want[STORE_OUTCOMES])
{
	size_t n_stores = 0, alias = SIZE_MAX;
	const uint64_t first = all[at].address, behind = first + all[at].bytes;
	for (size_t i = at; i-- > 0 && n_stores < RECENT_STORES;) {
		const uint64_t from = all[i].address, to = from + all[i].bytes;
		if (!(all[i].how & STORES))
			continue;
		n_stores++;
		if (first < to && from < behind) {
			want[from > first || to < behind           ? STORE_BLOCKS
			     : from == first && all[at].bytes >= 4 ? STORE_FORWARDS
								   : STORE_SHIFTS]++;
			return;
		}
		const uint64_t low = first % 4096, other = from % 4096;
		if (alias == SIZE_MAX && low < other + all[i].bytes && other < low + all[at].bytes)
			alias = i;
	}
	want[STORE_ALIASES] += alias != SIZE_MAX;
}

Test(recent_stores, random_accesses)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct access all[ACCESSES];
		uint64_t want[STORE_OUTCOMES] = {0}, got[STORE_OUTCOMES] = {0}, state = seed;
		begin();
		for (size_t i = 0; i < ACCESSES; i++) {
			const uint64_t any = random_number(&state);
			all[i] = (struct access){DATA + any % 40 * 3 + (any >> 20) % 3 * 4096,
						 1u << (any >> 30) % 5, 1 + (any >> 40) % 8,
						 (enum how)(1 + (any >> 50) % 3)};
			access_in((uint32_t)i + 1, all[i].who, all[i].how, all[i].address,
				  all[i].bytes);
			if (all[i].how & LOADS)
				expect_load(all, i, want);
		}
		struct profile *profile = end();
		for (size_t i = 0; i < profile->n_store_loads; i++) {
			got[STORE_FORWARDS] += profile->store_loads[i].forwarded;
			got[STORE_SHIFTS] += profile->store_loads[i].shifted;
			got[STORE_BLOCKS] += profile->store_loads[i].blocked;
			got[STORE_ALIASES] += profile->store_loads[i].aliased;
		}
		for (int k = 0; k < STORE_OUTCOMES; k++)
			cr_expect(want[k] > 0 && want[k] == got[k], "%d: %llu, not %llu", k,
				  (unsigned long long)got[k], (unsigned long long)want[k]);
		profile_destroy(profile);
	}
}
