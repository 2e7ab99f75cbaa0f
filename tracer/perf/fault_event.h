/* Page faults of the program, one of some sampled with its stack: an event of a processor, whose
 * records go into the ring of another one.  A plain user has those of the program's own code, who
 * may sample the kernel also those that the kernel has on its behalf. */
#pragma once

#include "tracer/perf/perf_source.h"

#include <stdbool.h>
#include <stdint.h>

struct fault_event {
	int event;       /* descriptor, or -1 */
	uint64_t id;     /* of its records */
	uint64_t period; /* faults that a sample stands for */
	struct fault_rate {
		uint64_t ran_ns, samples; /* since it was decided */
		bool often;
	} rate; /* all zero at first */
};

/* Opens the event, like one that samples time but for what it counts, for `pid` and its children on
 * `cpu`, from the execve on; no more samples come than `max_rate` a second (0: any number).  No run
 * fails for want of it: there are no faults by function then. */
void fault_event_open(struct fault_event *fault, const struct perf_event_attr *like, pid_t pid,
		      int cpu, uint64_t max_rate);
/* Its records go into the ring of `event`. */
void fault_event_share(struct fault_event *fault, int event);
/* Counts a sample of it. */
void fault_event_add(struct fault_event *fault);
/* The program has run there for so long. */
void fault_event_add_time(struct fault_event *fault, uint64_t ns);
/* Whether it does little but touch new pages there now: that begins at 150,000 faults in a second
 * of 20 ms of its time, and ends below 75,000 of 8 ms. */
bool fault_event_is_often(struct fault_event *fault);
void fault_event_stop(const struct fault_event *fault);
/* All faults so far, with those without a sample. */
uint64_t fault_event_count(const struct fault_event *fault);
void fault_event_close(struct fault_event *fault);
