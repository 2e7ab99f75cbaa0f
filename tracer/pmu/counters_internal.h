/* What counters.c (opening) and counters_read.c (samples, totals) share. */
#pragma once

#include "tracer/perf/perf_ring.h"
#include "tracer/pmu/counters.h"

/* One event of one group on one CPU. */
struct opened {
	int fd;
	uint64_t id;
	unsigned event, group, cpu; /* cpu: index into `rings` */
};

struct cpu_ring {
	int cpu;       /* -1: all */
	int first;     /* descriptor of the event whose ring it is; -1: none is sampled */
	void *mapping; /* or NULL */
	size_t mapping_size;
	struct perf_ring ring;
};

struct sums {
	uint64_t n_samples, sampled, throttled;
};

struct counters {
	const struct perf_source *source;
	struct counter_event *events;
	struct sums *sums;
	size_t n_events;
	struct counter_options options;
	struct event_groups groups;
	bool sampled; /* any event is, so all are per CPU */
	int clock;    /* descriptor of the software event that tells how long the program ran; -1 */
	struct opened *opened;
	size_t n_opened, cap_opened;
	struct cpu_ring **rings;
	size_t n_rings, cap_rings;
	struct counter_losses losses;
};
