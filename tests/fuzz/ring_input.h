/* Any bytes as a ring of perf records, for the fuzz targets of its readers.
 *
 * Bytes 0 to 2 choose the size of the ring and where reading begins, byte 3 is the target's; what
 * follows is in the ring, as far as it fits. */
#pragma once

#include "tracer/perf/perf_ring.h"

#include <stdlib.h>

enum { RING_INPUT_HEAD = 4 };

struct ring_input {
	struct perf_ring ring;
	uint64_t head, tail;
	uint8_t *data;
};

/* False: there are too few bytes, or no memory. */
static inline bool ring_input_init(struct ring_input *input, const uint8_t *bytes, size_t size)
{
	if (size < RING_INPUT_HEAD)
		return false;
	const size_t ring_size = (size_t)64 << (bytes[0] % 12), n = size - RING_INPUT_HEAD;
	input->tail = (uint64_t)bytes[1] << 3 | (uint64_t)bytes[2] << 11;
	input->head = input->tail + (n < ring_size ? n : ring_size);
	input->data = calloc(1, ring_size);
	if (!input->data)
		return false;
	for (uint64_t at = input->tail; at < input->head; at++)
		input->data[at % ring_size] = bytes[RING_INPUT_HEAD + at - input->tail];
	input->ring = (struct perf_ring){
		.head = &input->head, .tail = &input->tail, .data = input->data, .size = ring_size};
	return true;
}

/* The reader has ended: one that leaves bytes behind would read them for ever. */
static inline void ring_input_deinit(struct ring_input *input)
{
	if (input->tail != input->head)
		abort();
	free(input->data);
}
