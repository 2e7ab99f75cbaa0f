/* The last stores of a thread, for the loads behind them: what a core's queue of stores holds.
 *
 * It hears of bursts (tracer/gate/protocol.h), in which all accesses are recorded.  The records of
 * a block come in the order of its groups of operands, so the accesses of one execution of a block
 * are put into that of its instructions first. */
#pragma once

#include "tracer/stores/store_pairs.h"

#include <stdbool.h>
#include <stdint.h>

#define RECENT_STORES 64 /* about what queues hold: 44 of a Zen, 114 of a Golden Cove */
#define MOST_PENDING 128 /* accesses of a block that are put in order */
#define MOST_WIDE 64     /* bytes; of wider accesses, those of strings, nothing is told */
#define STORE_BUCKETS 512

/* An access of the account `who` to `bytes` from `address` on, by an operand of an instruction at
 * `offset` of the code in block number `block`. */
struct ordered_access {
	const void *operand; /* which one: the same for each execution */
	uint32_t block, who;
	uint64_t offset, address;
	uint32_t bytes;
	bool loads, stores; /* both: first the one, then the other */
};

struct recent_stores {
	struct {
		uint64_t address;
		uint32_t bytes, who;
	} stores[RECENT_STORES];
	uint32_t n; /* of all; the last at (n - 1) % RECENT_STORES */
	/* How many of the stores have a byte in each eighth of a line, by the address's last twelve
	 * bits: most loads come behind none. */
	uint8_t in_bucket[STORE_BUCKETS];
	struct ordered_access pending[MOST_PENDING];
	uint32_t n_pending;
};

/* There are no stores: before the first access of a burst. */
void recent_stores_clear(struct recent_stores *recent);
/* Takes an access; what the loads of a block come behind is told to `pairs` when it has ended. */
void recent_stores_take(struct recent_stores *recent, struct store_pairs *pairs,
			const struct ordered_access *access);
/* Tells what is pending: behind the last access of a burst. */
void recent_stores_end(struct recent_stores *recent, struct store_pairs *pairs);
