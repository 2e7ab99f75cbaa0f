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
#include "tracer/perf/perf_ring.h"
#include "tracer/perf/perf_source.h"
#include "tracer/pmu/event_groups.h"

#include <stdbool.h>
#include <stdint.h>

struct counter_event {
	/* type, config, config1, config2, precise_ip, as encoded; the rest is set here */
	struct perf_event_attr attr;
	const char *name; /* for messages; lives as long as the counters */
	/* A sample each so many events; 0: none, the total alone.  To be chosen so large that a
	 * thread has a thousand a second or fewer: beyond kernel.perf_event_max_sample_rate the
	 * kernel throttles, and for as long as it does so a counter of the PMU stands still and its
	 * total is too low (__perf_event_overflow in kernel/events/core.c). */
	uint64_t period;
	struct group_wish wish; /* `software` is set here, by the type */
};

struct counter_options {
	pid_t pid;       /* forked, and waits before its execve */
	unsigned n_cpus; /* CPUs 0…n-1; those that are off line are left out */
	bool first_only; /* not what the program starts (its threads, yes) */
};

/* What the rings told besides samples. */
struct counter_losses {
	uint64_t lost;    /* samples that the kernel had no room for (PERF_RECORD_LOST…) */
	uint64_t broken;  /* records that were truncated, and rings given up to their head */
	uint64_t unknown; /* samples of no event of ours */
};

/* One event of one group on one CPU. */
struct counter_opened {
	int fd;
	uint64_t id;
	unsigned event, group, cpu; /* cpu: index into `rings` */
};

struct counter_ring {
	int cpu;   /* -1: all */
	int first; /* descriptor of the event whose ring it is; -1: none is sampled */
	struct perf_ring ring;
};

struct counter_sums {
	uint64_t n_samples, sampled, throttled;
};

struct counters {
	const struct perf_source *source;
	struct counter_event *events;
	struct counter_sums *sums;
	size_t n_events;
	struct counter_options options;
	/* How the events of the PMU share its counters.  Those that the kernel counts itself wait
	 * for none: each is alone, or it would stand still while another group has its turn. */
	struct event_groups groups;
	bool sampled; /* any event is, so all are per CPU */
	int clock;    /* descriptor of the software event that tells how long the program ran; -1 */
	struct counter_opened *opened;
	size_t n_opened, cap_opened;
	struct counter_ring **rings;
	size_t n_rings, cap_rings;
	struct counter_losses losses;
};

/* The number of the group that event `event`, one that the kernel counts itself, has for itself. */
static inline unsigned counters_own_group(const struct counters *counters, size_t event)
{
	return (unsigned)(counters->groups.n + event);
}

/* Opens all events.  Groups that the kernel refuses (some counters count some events only) are made
 * smaller. RF_EUNAVAILABLE with the reason (tracer/perf/refusal.h) otherwise.  `events` is
 * copied, names are not. */
struct rf_error *counters_open(const struct perf_source *source, const struct counter_event *events,
			       size_t n, const struct counter_limits *limits,
			       const struct counter_options *options, struct counters **counters);
/* Closes everything; NULL is allowed. */
void counters_destroy(struct counters *counters);

/* After the program has ended: what it left running is no longer counted. */
void counters_disable(struct counters *counters);

/* How many counters there are to have at this moment, found by trying: what the manual says is one
 * thing, a hypervisor that shows fewer, a hyper-thread that shares them, or a watchdog that keeps
 * one is another.
 *
 * Opens ever larger groups for the calling thread and lets them run for a moment: the largest that
 * the kernel takes and whose counters of the same event agree is the limit.  General counters are
 * tried with branches, fixed ones with instructions (0), cycles (1) and reference cycles (2) beside
 * a full set of branches, as Intel numbers them.  RF_EUNAVAILABLE with the reason when not one
 * event of the PMU counts. */
struct rf_error *counter_limits_find(const struct perf_source *source,
				     struct counter_limits *limits);
