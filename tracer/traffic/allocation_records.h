/* Calls of allocators out of the records that the gate makes of them. */
#pragma once

#include "tracer/objects/allocator_calls.h"
#include "tracer/traffic/trace_ring.h"

struct allocation_reader { /* of one thread; all zero at first */
	struct allocator_call call;
	uint8_t n, wanted; /* arguments */
};

static inline bool is_allocation_record(const struct trace_record *record)
{
	return (record->word & TRACE_ALLOCATION) == TRACE_ALLOCATION;
}

/* Nothing more is in the chunk. */
static inline bool is_end_of_chunk(const struct trace_record *record)
{
	return record->word == ALLOCATION_RECORD(ALLOCATION_END);
}

/* Takes one such record; what it completes goes to `calls`.  `thread`: as in struct
 * allocator_call. */
void allocation_record_take(struct allocation_reader *reader, struct allocator_calls *calls,
			    uint32_t thread, const struct trace_record *record);
