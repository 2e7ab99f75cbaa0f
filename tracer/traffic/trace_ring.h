/* A thread's ring of records (tracer/gate/protocol.h), as the tracer sees it.
 *
 * The program can write there, too: nothing that is read is trusted. */
#pragma once

#include "tracer/gate/protocol.h"
#include "tracer/traffic/line_sample.h"
#include "tracer/translate/trace_config.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct trace_record {
	uint64_t address;
	uint32_t word; /* TRACE_… */
	uint32_t extra;
};

struct trace_ring {
	uint8_t *slot;    /* the thread's slot as mapped here */
	uint64_t address; /* and in the target */
	uint32_t taken;   /* chunks, */
	uint32_t seen;    /* and so many records of the next one */
	uint32_t depth;   /* so many chunks may be full */
};

/* Whether a record was made once more, for a line that was left out: the other lines of its bytes
 * do not count. */
static inline bool trace_record_repeats(const struct trace_record *record)
{
	return !(record->word & TRACE_SPAN_MAX << TRACE_SPAN_SHIFT);
}

/* Makes a slot's ring empty, for checks of these classes.  `full`: lines of them of which repeated
 * accesses are recorded.  `keep`: of how many lines of a class repeated accesses are left out,
 * access_filter_lines; `set_bits`: access_filter_set_bits.  Its thread does not run. */
void trace_ring_init(struct trace_ring *ring, uint8_t *slot, uint64_t address, uint64_t classes,
		     const struct line_sample *full, unsigned keep, uint32_t set_bits);

/* Its thread, which may run, waits where so many chunks are full: 1 to TRACE_CHUNKS, as at first.
 */
void trace_ring_set_depth(struct trace_ring *ring, uint32_t depth);

/* From the next chunk that it begins and that is no burst its thread checks for these classes; it
 * may run. */
void trace_ring_set_classes(struct trace_ring *ring, uint64_t classes);

/* Whether the next chunk to be taken is a burst: all accesses are recorded, of whatever class. */
bool trace_ring_is_burst(const struct trace_ring *ring);
/* The thread begins a burst with its next access, of whatever class; it may run. */
void trace_ring_ask_burst(struct trace_ring *ring);
/* Whether the thread waits, or soon will, until a chunk is released. */
bool trace_ring_is_full(const struct trace_ring *ring);
/* Whether a chunk has been handed over; *stamp says when. */
bool trace_ring_pending(const struct trace_ring *ring, uint64_t *stamp);
/* The records of that chunk, but for those that trace_ring_latest has given. */
const struct trace_record *trace_ring_chunk(const struct trace_ring *ring, size_t *n);
/* It has been read: the thread may fill it again. */
void trace_ring_release(struct trace_ring *ring);
/* What the thread, which may run, has recorded behind the last full chunk, and has not been given
 * yet; none while a full chunk waits. */
const struct trace_record *trace_ring_latest(struct trace_ring *ring, size_t *n);
/* The same, all of it, of a thread that does not run; they are given again until the ring is
 * rewound. */
const struct trace_record *trace_ring_rest(const struct trace_ring *ring, size_t *n);
/* These have been read: the chunk is filled from its beginning again.  The thread is stopped
 * outside the gate. */
void trace_ring_rewind(struct trace_ring *ring);
/* Adds a record in the place of the thread, which is stopped; of no line repeated accesses are left
 * out then.  False when there is no room. */
bool trace_ring_add(struct trace_ring *ring, const struct trace_record *record);
