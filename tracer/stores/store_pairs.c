/* Counts by pair of instructions. */
#include "tracer/stores/store_pairs.h"

#include "base/array.h"
#include "base/search.h"
#include "base/u64_map.h"

#include <stdlib.h>

#define MOST_PAIRS (1u << 18) /* what comes later is left out */

struct pair {
	uint32_t load, store; /* accounts */
	uint64_t n[STORE_OUTCOMES], since;
};

struct store_pairs {
	uint64_t *looked; /* by account */
	size_t n_looked;
	struct u64_map pair_of; /* by the accounts: place in `pairs` */
	struct pair *pairs;
	size_t n_pairs, cap_pairs;
};

struct store_pairs *store_pairs_create(void)
{
	return calloc(1, sizeof(struct store_pairs));
}

void store_pairs_destroy(struct store_pairs *pairs)
{
	if (!pairs)
		return;
	free(pairs->looked);
	free(pairs->pairs);
	u64_map_deinit(&pairs->pair_of);
	free(pairs);
}

void store_pairs_look(struct store_pairs *pairs, uint32_t load)
{
	if (rf_array_reach((void **)&pairs->looked, &pairs->n_looked, load, sizeof(*pairs->looked)))
		pairs->looked[load]++;
}

/* NULL: there is no room. */
static struct pair *pair_of(struct store_pairs *pairs, uint32_t load, uint32_t store)
{
	const uint64_t key = ((uint64_t)load << 32 | store) + 1;
	const uint32_t *found = u64_map_find(&pairs->pair_of, key);
	const struct pair new = {.load = load, .store = store};
	if (found)
		return &pairs->pairs[*found];
	if (pairs->n_pairs == MOST_PAIRS ||
	    !rf_array_push(pairs->pairs, pairs->n_pairs, pairs->cap_pairs, new))
		return NULL;
	if (!u64_map_set(&pairs->pair_of, key, (uint32_t)pairs->n_pairs - 1))
		return NULL;
	return &pairs->pairs[pairs->n_pairs - 1];
}

void store_pairs_note(struct store_pairs *pairs, uint32_t load, uint32_t store,
		      enum store_outcome outcome, uint32_t since)
{
	struct pair *pair = pair_of(pairs, load, store);
	if (!pair)
		return;
	pair->n[outcome]++;
	pair->since += since;
}

/* ---- rows ---- */

/* Looked-at loads by instruction, of all threads: place in `sums` by module and offset. */
struct looked {
	struct u64_map place_of;
	uint64_t *sums;
	size_t n, cap;
};

static uint64_t key_of(uint32_t module, uint64_t offset)
{
	return ((uint64_t)module << 48 | offset) + 1;
}

static bool add_looked(struct looked *looked, uint64_t key, uint64_t n)
{
	const uint32_t *place = u64_map_find(&looked->place_of, key);
	if (place) {
		looked->sums[*place] += n;
		return true;
	}
	return rf_array_push(looked->sums, looked->n, looked->cap, n) &&
	       u64_map_set(&looked->place_of, key, (uint32_t)looked->n - 1);
}

static int compare(const void *a, const void *b)
{
	const struct profile_store_load *x = a, *y = b;
	return rf_compare(x->module, y->module)
		       ?: rf_compare(x->offset, y->offset)
		       ?: rf_compare(x->store_module, y->store_module)
		       ?: rf_compare(x->store_offset, y->store_offset);
}

/* Rows of the same two instructions become one. */
static void join_rows(struct profile *profile)
{
	struct profile_store_load *rows = profile->store_loads;
	size_t kept = 0;
	if (profile->n_store_loads)
		qsort(rows, profile->n_store_loads, sizeof(*rows), compare);
	for (size_t i = 0; i < profile->n_store_loads; i++) {
		struct profile_store_load *last = kept ? &rows[kept - 1] : NULL;
		if (!last || compare(last, &rows[i]) != 0) {
			rows[kept++] = rows[i];
			continue;
		}
		last->forwarded += rows[i].forwarded;
		last->shifted += rows[i].shifted;
		last->blocked += rows[i].blocked;
		last->aliased += rows[i].aliased;
		last->since += rows[i].since;
	}
	profile->n_store_loads = kept;
}

static struct rf_error *add_rows(const struct store_pairs *pairs, const struct looked *looked,
				 struct profile *profile,
				 void (*place)(void *, uint32_t, uint32_t *, uint64_t *),
				 void *context)
{
	for (size_t i = 0; i < pairs->n_pairs; i++) {
		const struct pair *pair = &pairs->pairs[i];
		struct profile_store_load row = {.forwarded = pair->n[STORE_FORWARDS],
						 .shifted = pair->n[STORE_SHIFTS],
						 .blocked = pair->n[STORE_BLOCKS],
						 .aliased = pair->n[STORE_ALIASES],
						 .since = pair->since};
		place(context, pair->load, &row.module, &row.offset);
		place(context, pair->store, &row.store_module, &row.store_offset);
		const uint32_t *at =
			u64_map_find(&looked->place_of, key_of(row.module, row.offset));
		row.looked = at ? looked->sums[*at] : 0;
		if (!rf_array_push(profile->store_loads, profile->n_store_loads,
				   profile->cap_store_loads, row))
			return rf_error_no_memory();
	}
	return NULL;
}

struct rf_error *store_pairs_save(const struct store_pairs *pairs, struct profile *profile,
				  void (*place)(void *context, uint32_t who, uint32_t *module,
						uint64_t *offset),
				  void *context)
{
	struct looked looked = {.n = 0};
	struct rf_error *error = NULL;
	for (uint32_t who = 0; who < pairs->n_looked && !error; who++) {
		uint32_t module;
		uint64_t offset;
		if (!pairs->looked[who])
			continue;
		place(context, who, &module, &offset);
		if (!add_looked(&looked, key_of(module, offset), pairs->looked[who]))
			error = rf_error_no_memory();
	}
	if (!error)
		error = add_rows(pairs, &looked, profile, place, context);
	if (!error)
		join_rows(profile);
	u64_map_deinit(&looked.place_of);
	free(looked.sums);
	return error;
}
