/* The tracer's end of the ring that a traced thread fills: chunks that are full, and the state that
 * tells the thread what to record. */
#include "tracer/traffic/trace_ring.h"

#include <assert.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CHUNK_HEADER 16
#define CHUNK_RECORDS ((TRACE_CHUNK - CHUNK_HEADER) / sizeof(struct trace_record))

static uint64_t *word64(const struct trace_ring *ring, size_t offset)
{
	return (uint64_t *)(ring->slot + offset);
}

static uint32_t *word32(const struct trace_ring *ring, size_t offset)
{
	return (uint32_t *)(ring->slot + offset);
}

static size_t chunk_offset(uint32_t chunk)
{
	return SLOT_RING + (size_t)(chunk % TRACE_CHUNKS) * TRACE_CHUNK;
}

static const struct trace_record *first_record(const struct trace_ring *ring, uint32_t chunk)
{
	return (const struct trace_record *)(ring->slot + chunk_offset(chunk) + CHUNK_HEADER);
}

static void clear_windows(const struct trace_ring *ring)
{
	for (unsigned k = 0; k < CACHE_CLASSES; k++) {
		const size_t at = G_TRACE_WINDOWS + ((size_t)k << WINDOW_SHIFT);
		memset(ring->slot + at + WINDOW_LINES, 0xff, 8 * WINDOW_WAYS);
		memset(ring->slot + at + WINDOW_STATES, 0, 4 * WINDOW_WAYS);
		*word32(ring, at + WINDOW_TOUCHED) = *word32(ring, at + WINDOW_TOLD) = WINDOW_ORDER;
	}
}

void trace_ring_init(struct trace_ring *ring, uint8_t *slot, uint64_t address, uint64_t classes,
		     const struct line_sample *full, unsigned keep, uint32_t set_bits)
{
	*ring = (struct trace_ring){slot, address, 0, 0, 0};
	trace_ring_set_depth(ring, TRACE_CHUNKS);
	trace_config_masks(UINT64_MAX,
			   word64(ring, G_TRACE_MASKS)); /* the first chunk is a burst */
	*word64(ring, G_TRACE_CLASSES) = UINT64_MAX;
	trace_config_masks(classes, word64(ring, G_TRACE_SAMPLED));
	*word64(ring, G_TRACE_ONE) = 1;
	*word64(ring, G_TRACE_AT) = address + SLOT_RING + CHUNK_HEADER;
	*word64(ring, G_TRACE_END) = address + SLOT_RING + TRACE_CHUNK;
	*word64(ring, G_BLOCKS_LEFT) = 0;
	*word32(ring, G_TRACE_FILLED) = *word32(ring, G_TRACE_DRAINED) =
		*word32(ring, G_TRACE_WAITS) = 0;
	*word32(ring, chunk_offset(0) + CHUNK_BURST) = 1;
	*word32(ring, G_TRACE_BURST_ASKED) = 0;
	*word32(ring, G_TRACE_KEEP) = 0;
	*word32(ring, G_TRACE_SAMPLED_KEEP) = keep;
	*word32(ring, G_TRACE_SET_BITS) = set_bits;
	*word32(ring, G_TRACE_FULL) = full->bits;
	clear_windows(ring);
	for (unsigned k = 0; k < CACHE_CLASSES; k++)
		*word32(ring, G_TRACE_WINDOWS + ((size_t)k << WINDOW_SHIFT) + WINDOW_FIRST_STATE) =
			full->classes >> k & 1 ? WINDOW_FULL : 0;
}

void trace_ring_set_depth(struct trace_ring *ring, uint32_t depth)
{
	assert(depth > 0 && depth <= TRACE_CHUNKS);
	ring->depth = depth;
	__atomic_store_n(word32(ring, G_TRACE_DEPTH), depth, __ATOMIC_RELAXED);
}

void trace_ring_set_classes(struct trace_ring *ring, uint64_t classes)
{
	trace_config_masks(classes, word64(ring, G_TRACE_SAMPLED));
}

bool trace_ring_is_burst(const struct trace_ring *ring)
{
	return *word32(ring, chunk_offset(ring->taken) + CHUNK_BURST);
}

void trace_ring_ask_burst(struct trace_ring *ring)
{
	__atomic_store_n(word32(ring, G_TRACE_BURST_ASKED), 1, __ATOMIC_RELEASE);
	trace_config_masks(UINT64_MAX, word64(ring, G_TRACE_MASKS));
}

bool trace_ring_is_full(const struct trace_ring *ring)
{
	return __atomic_load_n(word32(ring, G_TRACE_FILLED), __ATOMIC_ACQUIRE) - ring->taken + 1 >=
	       ring->depth;
}

bool trace_ring_pending(const struct trace_ring *ring, uint64_t *stamp)
{
	const uint32_t filled = __atomic_load_n(word32(ring, G_TRACE_FILLED), __ATOMIC_ACQUIRE);
	if (filled == ring->taken || filled - ring->taken > TRACE_CHUNKS)
		return false;
	*stamp = *word64(ring, chunk_offset(ring->taken));
	return true;
}

const struct trace_record *trace_ring_chunk(const struct trace_ring *ring, size_t *n)
{
	*n = CHUNK_RECORDS - ring->seen;
	return first_record(ring, ring->taken) + ring->seen;
}

void trace_ring_release(struct trace_ring *ring)
{
	uint32_t *drained = word32(ring, G_TRACE_DRAINED);
	ring->seen = 0;
	__atomic_store_n(drained, ++ring->taken, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(word32(ring, G_TRACE_WAITS), __ATOMIC_SEQ_CST))
		syscall(SYS_futex, drained, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* Where the next record goes, as an offset in the ring's last chunk; 0 when the place makes no
 * sense. */
static size_t place_in_chunk(const struct trace_ring *ring)
{
	const size_t first = chunk_offset(*word32(ring, G_TRACE_FILLED));
	const uint64_t at =
		__atomic_load_n(word64(ring, G_TRACE_AT), __ATOMIC_ACQUIRE) - ring->address - first;
	return at >= CHUNK_HEADER && at <= TRACE_CHUNK && at % sizeof(struct trace_record) == 0 ? at
												: 0;
}

const struct trace_record *trace_ring_rest(const struct trace_ring *ring, size_t *n)
{
	const size_t at = place_in_chunk(ring);
	*n = at ? (at - CHUNK_HEADER) / sizeof(struct trace_record) - ring->seen : 0;
	return first_record(ring, *word32(ring, G_TRACE_FILLED)) + ring->seen;
}

/* A thread writes a record before it says that the next one goes behind it, and its chunk is filled
 * no more when it is counted as full. */
const struct trace_record *trace_ring_latest(struct trace_ring *ring, size_t *n)
{
	const uint32_t seen = ring->seen;
	*n = 0;
	if (__atomic_load_n(word32(ring, G_TRACE_FILLED), __ATOMIC_ACQUIRE) != ring->taken)
		return NULL;
	const size_t at = place_in_chunk(ring);
	if (!at || __atomic_load_n(word32(ring, G_TRACE_FILLED), __ATOMIC_ACQUIRE) != ring->taken)
		return NULL;
	ring->seen = (uint32_t)((at - CHUNK_HEADER) / sizeof(struct trace_record));
	assert(ring->seen >= seen);
	*n = ring->seen - seen;
	return first_record(ring, ring->taken) + seen;
}

void trace_ring_rewind(struct trace_ring *ring)
{
	ring->seen = 0;
	*word64(ring, G_TRACE_AT) =
		ring->address + chunk_offset(*word32(ring, G_TRACE_FILLED)) + CHUNK_HEADER;
}

bool trace_ring_add(struct trace_ring *ring, const struct trace_record *record)
{
	const size_t at = place_in_chunk(ring), size = sizeof(*record);
	if (!at || at + 2 * size > TRACE_CHUNK) /* the thread itself hands chunks over */
		return false;
	memcpy(ring->slot + chunk_offset(*word32(ring, G_TRACE_FILLED)) + at, record, size);
	clear_windows(ring);
	*word64(ring, G_TRACE_AT) += size;
	return true;
}
