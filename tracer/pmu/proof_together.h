/* Events that are right alone can be wrong beside others: a hypervisor that shows more counters
 * than its host has to give lets some of them stand still, and was seen to lose what is written to
 * a counter that changes its event, so that a total was too large by a period, or by 2^47.  So what
 * a run would count together is counted together first, around loops of known truth.
 *
 * Events of the core in their groups, with their sample periods, for the calling thread. */
#pragma once

#include "tracer/perf/perf_source.h"
#include "tracer/pmu/event_groups.h"
#include "tracer/pmu/event_table.h"
#include "tracer/pmu/proof.h"
#include "tracer/pmu/proof_loops.h"

#include <stdbool.h>

struct together_event {
	struct perf_event_attr attr; /* type, config, config1, config2 */
	const struct event_row *row;
	uint64_t period;
	bool unproved; /* the user's: counted beside the others, and not compared */
};

/* How an event shares the counters, by what it counts. */
struct group_wish event_wish(enum event_quantity quantity);

/* Whether `n` (up to EVENT_GROUPS_MAX) events of the PMU all count the truth together, as far as
 * the loops know it, in PROOF_ATTEMPTS attempts with other uses of the counters between: within
 * PROOF_TOLERANCE in one of them (where they take turns, within TOGETHER_IN_TURNS), and in none off
 * by more than TOGETHER_WRONG, which no disturbance does.  Events that the kernel refuses together
 * do not count together.  False: `why` (of `size` bytes) says what was found. */
#define TOGETHER_IN_TURNS 0.2
#define TOGETHER_WRONG 0.5
bool proof_together(const struct perf_source *source, const struct together_event *events, size_t n,
		    const struct counter_limits *limits, struct proof_loop *const *loops,
		    size_t n_loops, char *why, size_t size);

/* Of the events for which `used` holds (each alone is right), keeps those that are right together:
 * all, or quantity by quantity those that are so beside what is kept already: flop first, then
 * instructions, cycles, and the others as event_table.h lists them.  The results of the others
 * become PROOF_BAD, with the reason.  Those that are `unproved` stay.  All arrays have `n`
 * elements. */
void proof_keep_together(const struct perf_source *source, const struct together_event *events,
			 size_t n, const struct counter_limits *limits,
			 struct proof_loop *const *loops, size_t n_loops, bool hypervisor,
			 bool *used, struct proof_result *results);
