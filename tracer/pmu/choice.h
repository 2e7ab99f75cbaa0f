/* Which sources a run takes its three numbers from, and why: decided from what was asked for and
 * what was found, and from nothing else. */
#pragma once

#include "base/words.h"
#include "tracer/pmu/event_table.h"

#include <stdbool.h>

enum work_option { WORK_AUTO, WORK_PMU, WORK_COUNT, WORK_BOTH };                /* --work= */
enum traffic_option { TRAFFIC_AUTO, TRAFFIC_PMU, TRAFFIC_TRACE, TRAFFIC_NONE }; /* --traffic= */

extern const struct rf_word work_option_words[], traffic_option_words[];

/* How far the PMU's events for a quantity go. */
enum pmu_state {
	PMU_NONE,     /* none, or refused, or not proved */
	PMU_PARTIAL,  /* proved, but not all of it: some precisions, or a lower bound */
	PMU_COMPLETE, /* proved and complete */
};

/* How far events go that can be used, by quantity: of flop, all of one row of events or every
 * precision that matters; of memory, where the program's bytes are measured (`controllers`: by the
 * memory's, or resctrl) or reads and writes are. */
enum pmu_state choice_work_state(const bool usable[N_EVENT_QUANTITIES]);
enum pmu_state choice_memory_state(const bool usable[N_EVENT_QUANTITIES], bool controllers);

struct choice_input {
	enum work_option work;
	enum traffic_option traffic;
	bool once; /* --once: one run, counted; traffic only when it is asked for */
	enum pmu_state work_events; /* flop */
	/* COMPLETE: of the memory controllers or of resctrl; PARTIAL: misses of the last cache */
	enum pmu_state memory_events;
	const char *why_no_work; /* the reason, where work_events is not COMPLETE; or NULL */
	const char *why_no_memory;
};

enum work_source { WORK_FROM_PMU, WORK_FROM_COUNTING, WORK_FROM_BOTH };
enum traffic_source { TRAFFIC_FROM_NOTHING, TRAFFIC_FROM_PMU, TRAFFIC_FROM_TRACE };
enum time_source { TIME_FROM_NATIVE_RUN, TIME_FROM_COUNTED_RUN };

struct choice {
	enum time_source time;
	enum work_source work;
	enum traffic_source traffic;
	/* There is a run of translated code: the second one, or with --once the only one. */
	bool counted_run;
	bool counters; /* the native run is counted by the PMU */
	bool refused;  /* something that was asked for by name is not to be had: say why */
	char why_work[256], why_traffic[256]; /* one line each */
};

/* Total: every input has an answer.  What was asked for and is not there is replaced by the next
 * source, and the words say so. */
struct choice choose(const struct choice_input *input);
