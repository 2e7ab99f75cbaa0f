/* What counters have counted: samples while the program runs, totals at its end. */
#pragma once

#include "tracer/pmu/counters.h"

struct counter_sample {
	uint64_t time; /* CLOCK_MONOTONIC, ns */
	/* Address in the process; may be behind the instruction that made the event ("skid"). */
	uint64_t ip;
	uint64_t period; /* events that it stands for */
	uint32_t pid, tid;
	uint32_t event; /* index into `events` of counters_open */
};

typedef void counter_sample_fn(void *context, const struct counter_sample *sample);

/* Hands out what is in the rings, one CPU after the other, each in order of time.  To be called
 * every 20 ms or so while the program runs, and once after counters_disable; by one thread at a
 * time. */
void counters_drain(struct counters *counters, counter_sample_fn *fn, void *context);

/* What the rings told besides samples. */
struct counter_losses counters_losses(const struct counters *counters);

/* --- totals --- */

enum counter_state {
	COUNTER_EXACT,  /* counted all the time */
	COUNTER_SCALED, /* in turns with others: raw / share */
	/* Samples came so fast that the kernel stopped the counter at times: a lower bound. */
	COUNTER_TOO_LOW,
	COUNTER_NOT_COUNTED, /* not for a moment: value is 0 and says nothing */
};

struct counter_total {
	enum counter_state state;
	double value;        /* events */
	uint64_t raw;        /* events, as counted */
	uint64_t enabled_ns; /* CPU time of the program */
	uint64_t running_ns; /* that of it while this was counted */
	double share;        /* running / enabled, 0…1 */
	/* what was drained: */
	uint64_t n_samples;
	uint64_t sampled;   /* sum of their periods */
	uint64_t throttled; /* times that the kernel stopped sampling it until the next tick */
};

/* raw, enabled and running as read → state, share and value.  Of an event that is in several groups
 * these are sums over them: while it is in one it is not in another. */
struct counter_total counter_scale(uint64_t raw, uint64_t enabled_ns, uint64_t running_ns);

/* Reads the total of event `event`.  RF_EUNAVAILABLE when the kernel does not give it. */
struct rf_error *counters_total(struct counters *counters, size_t event,
				struct counter_total *total);

/* --- from samples to places --- */

/* Samples stand for `period` events each, but the last stretch of each thread on each CPU has no
 * sample, and samples get lost: so a place has scale × the periods of its samples, and the places
 * add up to the total. */
struct counter_weight {
	double scale; /* total / sampled; 0: there are no samples */
	/* Share of the total that no sample stands for, (total - sampled) / total; negative: more
	 * was sampled than counted. */
	double missing;
};
struct counter_weight counter_weight(const struct counter_total *total);

/* Whether a total and its samples can both be true.  A task leaves less than one period without a
 * sample on each CPU and in each group, of which there are `contexts`; `lost` samples were not
 * told. A counter that jumps (a hypervisor that loses what is written to it) counts periods that
 * nobody sampled.  True also of what was not sampled, or throttled. */
bool counter_is_plausible(const struct counter_total *total, uint64_t period, uint64_t contexts,
			  uint64_t lost);
/* For each task: how often each event is open. */
uint64_t counters_contexts(const struct counters *counters);
