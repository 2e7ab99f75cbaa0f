/* Which hardware counters a run uses, decided before it: what the tables know, what the user names,
 * what the PMU proves, and what is chosen from that. */
#pragma once

#include "base/error.h"
#include "tracer/pmu/choice.h"
#include "tracer/pmu/counters.h"
#include "tracer/pmu/event_table.h"
#include "tracer/pmu/proof.h"

struct pmu_options {
	enum work_option work;
	enum traffic_option traffic;
	bool once;
	/* "QUANTITY=EVENT[*MULTIPLIER][@PERIOD]", NULL at the end; or NULL */
	const char *const *named;
};

/* An event that is counted. */
struct pmu_event {
	struct event_row row; /* strings live as long as the plan */
	struct perf_event_attr attr;
	uint64_t period;
	bool named; /* by the user: taken as it is, without proof */
	struct proof_result proof;
	bool used;
};

struct pmu_plan {
	struct pmu_options options;
	struct choice choice;
	struct pmu_event *events;
	size_t n_events, cap_events;
	struct counter_limits limits;
	char *texts; /* of what the user named */
	bool memory; /* the bytes at the memory's controllers are counted, too (pmu_memory.h) */
	char why_no_memory[320];
	char why[320]; /* there is no PMU, or no table: why; "" else */
};

/* Finds, proves and chooses.  That there is no PMU is no error; a named event that makes no sense
 * is (RF_EINPUT). */
struct rf_error *pmu_plan_init(const struct perf_source *source, const struct pmu_options *options,
			       struct pmu_plan *plan);
/* The counters that it chose were refused when the run began: the next sources. */
void pmu_plan_refuse(struct pmu_plan *plan);
void pmu_plan_deinit(struct pmu_plan *plan);

/* Events for a sample of an event that counts this, where none is named. */
uint64_t pmu_default_period(const struct perf_event_attr *attr, enum event_quantity quantity);

/* One word of `named`, for the command line's check: RF_EINPUT when it makes no sense.
 * event->row.event points into `text`, which is changed. */
struct rf_error *pmu_event_parse(char *text, struct pmu_event *event);
