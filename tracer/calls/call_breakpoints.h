/* The events of breakpoints of the processor, for all threads that a process starts, and their
 * rings.
 *
 * Threads inherit only what is there when they begin: so all events are opened before there are
 * threads, and moved later (PERF_EVENT_IOC_MODIFY_ATTRIBUTES), with those that were inherited. */
#pragma once

#include "base/error.h"
#include "tracer/calls/call_places.h"
#include "tracer/perf/perf_ring.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct call_cpu {
	int number;
	bool has_ended; /* the process, as its event tells */
	int threads;    /* tells which begin and end; has the ring */
	int switches;   /* tells when they lose the processor and get it again */
	int events[MOST_CALL_PLACES];
	uint64_t ids[MOST_CALL_PLACES];
	struct perf_ring ring;
};

struct call_breakpoints {
	pid_t pid;
	bool first_only; /* processes that it starts are left out */
	struct call_cpu *cpus;
	size_t n_cpus;
	size_t n; /* breakpoints on each of them */
};

/* The rings, and the events that have them, of `pid` and first_only.  Before other rings are
 * mapped.  0, or errno. */
int call_breakpoints_map(struct call_breakpoints *breakpoints);
/* All that there is is closed. */
void call_breakpoints_deinit(struct call_breakpoints *breakpoints);

/* Opens one for each of `places`, turned off; those that have no address yet stand at `other`. */
struct rf_error *call_breakpoints_open(struct call_breakpoints *breakpoints,
				       const struct call_places *places, uint64_t other);
/* Turns those of one place on or off. */
void call_breakpoints_turn(struct call_breakpoints *breakpoints, size_t place, bool on);
/* Turns the records on or off of threads that are switched to and from. */
void call_breakpoints_turn_switches(struct call_breakpoints *breakpoints, bool on);
/* Moves those of a place to an address, where they are off.  False: that is refused. */
bool call_breakpoints_move(struct call_breakpoints *breakpoints, size_t place, uint64_t address);

/* Why there are none. */
struct rf_error *call_breakpoints_refused(int errnum);
