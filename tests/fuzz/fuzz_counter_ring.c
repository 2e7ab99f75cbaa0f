/* Fuzz target: any bytes as a ring of records of sampled counters, as counters_drain takes them. */
#include "ring_input.h"
#include "tracer/pmu/counters_read.h"

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
static struct counter_opened opened[2] = {{.fd = -1, .id = 1, .event = 0},
					  {.fd = -1, .id = 2, .event = 1}};

static void check(const struct counters *counters)
{
	if (counters->sums[0].n_samples + counters->sums[1].n_samples != n_seen)
		abort(); /* each sample that is counted is handed out, and no other */
	for (size_t i = 0; i < 2; i++)
		if (counters->sums[i].sampled !=
		    counters->sums[i].n_samples * counters->events[i].period)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static struct ring_input input;
	static struct counter_ring ring;
	struct counter_ring *rings[1] = {&ring};
	struct counter_sums sums[2] = {{0}};
	struct counter_event events[2] = {{.period = 1000}, {.period = 3}};
	if (!ring_input_init(&input, bytes, size))
		return 0;
	ring.ring = input.ring;
	ring.ring.mapping = input.data;
	struct counters counters = {.events = events,
				    .n_events = 2,
				    .sums = sums,
				    .opened = opened,
				    .n_opened = 2,
				    .rings = rings,
				    .n_rings = 1};
	n_seen = 0;
	counters_drain(&counters, see, NULL);
	check(&counters);
	sum += counters_losses(&counters).broken;
	ring_input_deinit(&input);
	return 0;
}
