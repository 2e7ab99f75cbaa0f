/* A ring of stores, and a coarse filter of where they are. */
#include "tracer/stores/recent_stores.h"

#include <string.h>

#define PIECE 8 /* bytes of a bucket */
#define ALIAS_MASK 4095

void recent_stores_clear(struct recent_stores *recent)
{
	recent->n = recent->n_pending = 0;
	memset(recent->in_bucket, 0, sizeof(recent->in_bucket));
}

static void count_pieces(struct recent_stores *recent, uint64_t address, uint32_t bytes, int by)
{
	for (uint64_t piece = address / PIECE; piece <= (address + bytes - 1) / PIECE; piece++)
		recent->in_bucket[piece % STORE_BUCKETS] =
			(uint8_t)(recent->in_bucket[piece % STORE_BUCKETS] + by);
}

static void add_store(struct recent_stores *recent, const struct ordered_access *access)
{
	const uint32_t at = recent->n % RECENT_STORES;
	if (recent->n >= RECENT_STORES)
		count_pieces(recent, recent->stores[at].address, recent->stores[at].bytes, -1);
	recent->stores[at].address = access->address;
	recent->stores[at].bytes = access->bytes;
	recent->stores[at].who = access->who;
	count_pieces(recent, access->address, access->bytes, 1);
	recent->n++;
}

static bool may_meet(const struct recent_stores *recent, uint64_t address, uint32_t bytes)
{
	for (uint64_t piece = address / PIECE; piece <= (address + bytes - 1) / PIECE; piece++)
		if (recent->in_bucket[piece % STORE_BUCKETS])
			return true;
	return false;
}

static bool overlap(uint64_t a, uint32_t a_bytes, uint64_t b, uint32_t b_bytes)
{
	return a < b + b_bytes && b < a + a_bytes;
}

static enum store_outcome outcome_of(const struct ordered_access *load, uint64_t store,
				     uint32_t bytes)
{
	if (load->address < store || load->address + load->bytes > store + bytes)
		return STORE_BLOCKS;
	return load->address == store && load->bytes >= 4 ? STORE_FORWARDS : STORE_SHIFTS;
}

/* How often the instruction of the store that is so many stores back was executed since. */
static uint32_t executions_since(const struct recent_stores *recent, uint32_t back)
{
	const uint32_t who = recent->stores[(recent->n - 1 - back) % RECENT_STORES].who;
	uint32_t since = 0;
	for (uint32_t i = 0; i < back; i++)
		since += recent->stores[(recent->n - 1 - i) % RECENT_STORES].who == who;
	return since;
}

static void note(const struct recent_stores *recent, struct store_pairs *pairs,
		 const struct ordered_access *load, uint32_t back, enum store_outcome outcome)
{
	const uint32_t at = (recent->n - 1 - back) % RECENT_STORES;
	store_pairs_note(pairs, load->who, recent->stores[at].who, outcome,
			 executions_since(recent, back));
}

/* The last store with any of its bytes decides; where there is none, the last that looks so. */
static void take_load(const struct recent_stores *recent, struct store_pairs *pairs,
		      const struct ordered_access *load)
{
	const uint32_t n = recent->n < RECENT_STORES ? recent->n : RECENT_STORES;
	uint32_t alias = n;
	store_pairs_look(pairs, load->who);
	if (!may_meet(recent, load->address, load->bytes))
		return;
	for (uint32_t back = 0; back < n; back++) {
		const uint32_t at = (recent->n - 1 - back) % RECENT_STORES;
		const uint64_t store = recent->stores[at].address;
		const uint32_t bytes = recent->stores[at].bytes;
		if (overlap(load->address, load->bytes, store, bytes)) {
			note(recent, pairs, load, back, outcome_of(load, store, bytes));
			return;
		}
		if (alias == n &&
		    overlap(load->address & ALIAS_MASK, load->bytes, store & ALIAS_MASK, bytes))
			alias = back;
	}
	if (alias < n)
		note(recent, pairs, load, alias, STORE_ALIASES);
}

/* In the order of the instructions; accesses of one keep theirs. */
static void put_in_order(struct recent_stores *recent)
{
	struct ordered_access *all = recent->pending;
	for (uint32_t i = 1; i < recent->n_pending; i++) {
		const struct ordered_access access = all[i];
		uint32_t at = i;
		for (; at > 0 && all[at - 1].offset > access.offset; at--)
			all[at] = all[at - 1];
		all[at] = access;
	}
}

void recent_stores_end(struct recent_stores *recent, struct store_pairs *pairs)
{
	put_in_order(recent);
	for (uint32_t i = 0; i < recent->n_pending; i++) {
		if (recent->pending[i].loads)
			take_load(recent, pairs, &recent->pending[i]);
		if (recent->pending[i].stores)
			add_store(recent, &recent->pending[i]);
	}
	recent->n_pending = 0;
}

void recent_stores_take(struct recent_stores *recent, struct store_pairs *pairs,
			const struct ordered_access *access)
{
	const struct ordered_access *first = recent->pending;
	if (!access->bytes || access->bytes > MOST_WIDE)
		return;
	if (recent->n_pending &&
	    (first->block != access->block || first->operand == access->operand ||
	     recent->n_pending == MOST_PENDING))
		recent_stores_end(recent, pairs);
	recent->pending[recent->n_pending++] = *access;
}
