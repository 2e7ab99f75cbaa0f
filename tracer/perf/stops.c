/* The last stops of events by the kernel, by thread. */
#include "tracer/perf/stops.h"

#include <stddef.h>

static struct perf_stop *find_stop(struct perf_stops *stops, uint32_t tid)
{
	for (int i = 0; i < PERF_STOPS; i++)
		if (stops->stops[i].tid == tid)
			return &stops->stops[i];
	return NULL;
}

void perf_stops_add(struct perf_stops *stops, const struct perf_record *record)
{
	struct perf_stop *stop = find_stop(stops, record->tid);
	if (!stop) {
		stop = &stops->stops[stops->n++ % PERF_STOPS];
		*stop = (struct perf_stop){.tid = record->tid};
	}
	stop->now = record->time;
}

uint64_t perf_stops_weight(struct perf_stops *stops, const struct perf_record *sample,
			   uint64_t tick_ns)
{
	struct perf_stop *stop = find_stop(stops, sample->tid);
	const uint64_t before = stop ? stop->before : 0, most = sample->period + tick_ns;
	if (stop)
		*stop = (struct perf_stop){sample->tid, stop->now, 0};
	if (!before || sample->time < before)
		return sample->period;
	return sample->time - before < most ? sample->time - before : most;
}
