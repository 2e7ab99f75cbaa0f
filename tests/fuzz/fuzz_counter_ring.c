/* Fuzz target: any bytes as a ring of records of sampled counters, as counters_drain takes them. */
#include "tracer/events/counters_internal.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static uint64_t sum, n_seen;

static void see(void *unused, const struct counter_sample *sample)
{
	if (sample->event >= 2)
		abort();
	n_seen++;
	sum += sample->ip + sample->time + sample->period + sample->pid + sample->tid;
}

/* Two events share one ring; their ids are small, so that inputs find them. */
static struct opened opened[2] = { { .fd = -1, .id = 1, .event = 0 }, { .fd = -1, .id = 2, .event = 1 } };

static void check(const struct counters *counters)
{
	if (counters->sums[0].n_samples + counters->sums[1].n_samples != n_seen)
		abort(); /* each sample that is counted is handed out, and no other */
	for (size_t i = 0; i < 2; i++)
		if (counters->sums[i].sampled != counters->sums[i].n_samples * counters->events[i].period)
			abort();
}

/* The first bytes choose the size of the ring and where reading begins. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static struct cpu_ring ring;
	struct cpu_ring *rings[1] = { &ring };
	struct sums sums[2] = { { 0 } };
	struct counter_event events[2] = { { .period = 1000 }, { .period = 3 } };
	if (size < 4)
		return 0;
	const size_t ring_size = (size_t)64 << (bytes[0] % 12);
	uint64_t tail = (uint64_t)bytes[1] << 3 | (uint64_t)bytes[2] << 11;
	uint64_t head = tail + (size - 4 < ring_size ? size - 4 : ring_size);
	uint8_t *data = calloc(1, ring_size);
	if (!data)
		return 0;
	for (uint64_t at = tail; at < head; at++)
		data[at % ring_size] = bytes[4 + at - tail];
	ring.mapping = data;
	ring.ring = (struct perf_ring){ .head = &head, .tail = &tail, .data = data, .size = ring_size };
	struct counters counters = { .events = events, .n_events = 2, .sums = sums, .opened = opened, .n_opened = 2, .rings = rings,
				     .n_rings = 1 };
	n_seen = 0;
	counters_drain(&counters, see, NULL);
	check(&counters);
	if (tail != head)
		abort(); /* a reader that leaves bytes behind would read them for ever */
	sum += counters_losses(&counters).broken;
	free(data);
	return 0;
}
