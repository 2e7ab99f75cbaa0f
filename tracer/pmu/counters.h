/* Hardware counters of a program and everything that it starts: totals, and samples that say where.
 *
 * How the kernel wants it (kernel/events/core.c, and tried in
 * tests/unit/tracer/timed/test_counters_live.c):
 * - Inherited events can be mapped per CPU only.  So events that are sampled are opened for the
 * program on each CPU, and their totals are sums over CPUs; without any sampled event there is one
 * event for all CPUs.
 * - The time "enabled" of an event that is bound to one CPU goes on while the program runs on
 * others, and was seen to miss up to 3 % of it when children end elsewhere.  So one software event
 * that is bound to no CPU (the clock) says how long the program ran, and the share that an event
 * was counted for is the sum of its times "running" over it.
 * - A sum over living and ended children is what read(2) gives, of one event at a time; reading a
 * whole group at once (PERF_FORMAT_GROUP) fails with inherited events on many kernels.  Events of a
 * group run at the same time anyway.
 *
 * The events start at the execve of a process that waits before it, so nothing of rfprof is
 * counted; user code only. */
#pragma once

#include "base/error.h"
#include "tracer/perf/perf_source.h"
#include "tracer/pmu/event_groups.h"

#include <stdbool.h>
#include <stdint.h>

struct counter_event {
	struct perf_event_attr attr; /* type, config, config1, config2, precise_ip, as encoded; the
					rest is set here */
	const char *name;            /* for messages; lives as long as the counters */
	/* A sample each so many events; 0: none, the total alone.  To be chosen so large that a
	 * thread has a thousand a second or fewer: beyond kernel.perf_event_max_sample_rate the
	 * kernel throttles, and for as long as it does so a counter of the PMU stands still and its
	 * total is too low (__perf_event_overflow in kernel/events/core.c). */
	uint64_t period;
	struct group_wish wish; /* `software` is set here, by the type */
};

struct counter_options {
	pid_t pid;           /* forked, and waits before its execve; 0: the calling thread, see
				counters_enable */
	unsigned n_cpus;     /* CPUs 0…n-1; those that are off line are left out */
	bool first_only;     /* not what the program starts (its threads, yes) */
	unsigned ring_pages; /* of samples for each CPU, a power of two; less is taken where that is
				refused; 0: 32 */
};

struct counters;

/* Opens all events.  Groups that the kernel refuses (some counters count some events only) are made
 * smaller. RF_EUNAVAILABLE with the reason (tracer/perf/refusal.h) otherwise.  `events` is
 * copied, names are not. */
struct rf_error *counters_open(const struct perf_source *source, const struct counter_event *events,
			       size_t n, const struct counter_limits *limits,
			       const struct counter_options *options, struct counters **counters);
/* Closes everything; NULL is allowed. */
void counters_destroy(struct counters *counters);

/* For pid 0: there is no execve to start at. */
void counters_enable(struct counters *counters);
/* After the program has ended: what it left running is no longer counted. */
void counters_disable(struct counters *counters);

/* How the events share the counters; 1 group: all are counted all the time. */
const struct event_groups *counters_groups(const struct counters *counters);

/* --- samples --- */

struct counter_sample {
	uint64_t time; /* CLOCK_MONOTONIC, ns */
	uint64_t ip;   /* address in the process; may be behind the instruction that made the event
			  ("skid") */
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
struct counter_losses {
	uint64_t lost; /* samples that the kernel had no room for (PERF_RECORD_LOST, …_LOST_SAMPLES)
			*/
	uint64_t broken;    /* records that were truncated, and rings given up to their head */
	uint64_t unknown;   /* samples of no event of ours */
	uint64_t throttled; /* times that the kernel stopped an event for a tick, because samples
			       came too fast */
};
struct counter_losses counters_losses(const struct counters *counters);

/* --- totals --- */

enum counter_state {
	COUNTER_EXACT,       /* counted all the time */
	COUNTER_SCALED,      /* in turns with others: raw / share */
	COUNTER_TOO_LOW,     /* samples came so fast that the kernel stopped the counter at times
				(throttled): a lower bound */
	COUNTER_NOT_COUNTED, /* not for a moment: value is 0 and says nothing */
};

struct counter_total {
	enum counter_state state;
	double value; /* events */
	uint64_t raw; /* events, as counted */
	uint64_t enabled_ns,
		running_ns; /* CPU time of the program, and that of it while this was counted */
	double share;       /* running / enabled, 0…1 */
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
	double scale;    /* total / sampled; 0: there are no samples */
	double missing;  /* share of the total that no sample stands for, (total - sampled) / total;
			  * negative: more was  sampled than counted */
	double unplaced; /* events that cannot be placed: the whole total when there are no samples,
			    else 0 */
};
struct counter_weight counter_weight(const struct counter_total *total);

/* Standard error, in events, of a place with `n` of the total's samples: sqrt(p (1 - p) / N) ×
 * total with p = n / N (binomial), as of a draw of N. */
double counter_place_error(const struct counter_total *total, uint64_t n);
