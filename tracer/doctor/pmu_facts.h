/* Facts of the PMU: its counters, and which events are proved. */
#pragma once

#include "tracer/doctor/facts.h"
#include "tracer/perf/perf_source.h"
#include "tracer/pmu/proof.h"

/* `table`: of the processor, or NULL.  Counts loops at `place` to prove the table's events. */
void doctor_read_pmu(const struct perf_source *source, const struct event_table *table,
		     const struct proof_place *place, struct doctor_pmu *pmu);
