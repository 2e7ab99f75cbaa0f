/* The events of perf on the threads of a process that runs already: for each thread and processor
 * one that samples its time and tells of switches, mappings and births, and two that sample stacks
 * of threads that are about to wait, one after the other.  What they start afterwards inherits the
 * events.  All events of a processor share two rings. */
#pragma once

#include "base/error.h"
#include "base/u64_map.h"
#include "tracer/perf/perf_ring.h"
#include "tracer/perf/stops.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { ATTACHED_WAIT_STAGES = 2 };

struct attached_cpu {
	int number;
	int first, first_wait; /* the events that have the rings; -1: none */
	struct perf_ring ring, wait_ring;
	struct perf_stops stops;
};

struct attached_threads {
	pid_t pid;
	bool with_children;
	bool sees_kernel;
	uint64_t period_ns;
	struct attached_cpu *cpus;
	size_t n_cpus;
	int *events; /* that sample time */
	size_t n_events, cap_events;
	int *waits[ATTACHED_WAIT_STAGES]; /* that sample switches: first each, then few of them */
	size_t n_waits[ATTACHED_WAIT_STAGES], cap_waits[ATTACHED_WAIT_STAGES];
	uint64_t n_wait_samples;
	bool few_waits;
	pid_t *tids; /* the threads that were there */
	size_t n_tids, cap_tids;
	struct u64_map born; /* threads that have inherited the events */
};

/* Opens events that sample each `period_ns` on all threads of a process, with those that are born
 * meanwhile. Each record that comes while this looks for them is given to `take`.  Errors:
 * RF_EINPUT no such process; RF_EUNAVAILABLE not allowed, or too many threads. */
struct rf_error *attached_threads_open(struct attached_threads *threads, pid_t pid,
				       bool with_children, uint64_t period_ns,
				       void (*take)(void *context, struct attached_cpu *cpu,
						    const struct perf_record *record, bool is_wait),
				       void *context);
/* Reads all rings. */
void attached_threads_read(struct attached_threads *threads,
			   void (*take)(void *context, struct attached_cpu *cpu,
					const struct perf_record *record, bool is_wait),
			   void *context);
/* Nothing is sampled any more. */
void attached_threads_stop(struct attached_threads *threads);
void attached_threads_close(struct attached_threads *threads);
