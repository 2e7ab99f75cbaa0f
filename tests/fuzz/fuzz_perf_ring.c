/* Fuzz target: any bytes as a ring of perf records, in the kernel's or in shared memory. */
#include "tracer/perf_ring.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static uint64_t sum;

/* Touches everything that a record points at. */
static void touch(void *unused, const void *bytes, size_t size)
{
	struct perf_record record;
	if (!perf_record_parse(bytes, size, &record))
		return;
	for (size_t i = 0; i < record.stack_size; i++)
		sum += record.stack[i];
	for (size_t i = 0; i < record.build_id_size; i++)
		sum += record.build_id[i];
	if (record.path)
		sum += strlen(record.path);
}

/* The first bytes choose the size of the ring and where reading begins. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static struct perf_ring ring;
	if (size < 4)
		return 0;
	size_t ring_size = (size_t)64 << (bytes[0] % 12);
	uint64_t tail = (uint64_t)bytes[1] << 3 | (uint64_t)bytes[2] << 11;
	uint64_t head = tail + (size - 4 < ring_size ? size - 4 : ring_size);
	uint8_t *data = calloc(1, ring_size);
	if (!data)
		return 0;
	for (uint64_t at = tail; at < head; at++)
		data[at % ring_size] = bytes[4 + at - tail];
	ring = (struct perf_ring){ .head = &head, .tail = &tail, .data = data, .size = ring_size,
				   .shared = bytes[3] & 1 };
	perf_ring_read(&ring, touch, NULL);
	if (tail != head)
		abort(); /* a reader that leaves bytes behind would read them for ever */
	free(data);
	return 0;
}
