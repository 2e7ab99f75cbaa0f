/* The tracer's end of a burst of blocks. */
#include "tracer/branches/block_burst.h"

#include <assert.h>

static uint64_t *left_of(const struct block_burst *burst)
{
	return (uint64_t *)(burst->slot + G_BLOCKS_LEFT);
}

void block_burst_ask(struct block_burst *burst, uint32_t n)
{
	assert(n && n <= MOST_BLOCKS && !burst->asked);
	burst->asked = n;
	__atomic_store_n(left_of(burst), n, __ATOMIC_RELEASE);
}

bool block_burst_is_full(const struct block_burst *burst)
{
	return burst->asked && !__atomic_load_n(left_of(burst), __ATOMIC_ACQUIRE);
}

const uint32_t *block_burst_take(struct block_burst *burst, size_t *n)
{
	const uint64_t left = *left_of(burst);
	*n = left < burst->asked ? burst->asked - left : 0;
	burst->asked = 0;
	*left_of(burst) = 0;
	return (const uint32_t *)(burst->slot + SLOT_BLOCKS) + (*n ? left : 0);
}
