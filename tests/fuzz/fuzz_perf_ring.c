/* Fuzz target: any bytes as a ring of perf records, in the kernel's or in shared memory. */
#include "ring_input.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static uint64_t sum;

/* Touches everything that a record points at. */
static void touch_parts(const struct perf_record *record)
{
	for (size_t i = 0; i < record->stack_size; i++)
		sum += record->stack[i];
	for (size_t i = 0; i < record->build_id_size; i++)
		sum += record->build_id[i];
	if (record->path)
		sum += strlen(record->path);
}

/* As each kind of event has it. */
static void touch(void *unused, const void *bytes, size_t size)
{
	typedef bool parser(const void *bytes, size_t size, struct perf_record *record);
	static parser *const parsers[] = {perf_record_parse, perf_record_parse_switch,
					  perf_record_parse_counter, perf_record_parse_hit};
	for (size_t i = 0; i < sizeof(parsers) / sizeof(parsers[0]); i++) {
		struct perf_record record;
		if (parsers[i](bytes, size, &record))
			touch_parts(&record);
	}
}

/* The fourth byte: whether the producer may change records while they are read. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static struct ring_input input;
	if (!ring_input_init(&input, bytes, size))
		return 0;
	input.ring.shared = bytes[3] & 1;
	perf_ring_read(&input.ring, touch, NULL);
	ring_input_deinit(&input);
	return 0;
}
