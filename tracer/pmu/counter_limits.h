/* How many counters there are to have at this moment, found by trying: what the manual says is one
 * thing, a hypervisor that shows fewer, a hyper-thread that shares them, or a watchdog that keeps
 * one is another. */
#pragma once

#include "base/error.h"
#include "tracer/perf/perf_source.h"
#include "tracer/pmu/event_groups.h"

/* Opens ever larger groups for the calling thread and lets them run for a moment: the largest that
 * the kernel takes and that counts is the limit.  General counters are tried with branches, fixed
 * ones with instructions (0), cycles (1) and reference cycles (2) beside a full set of branches, as
 * Intel numbers them.  RF_EUNAVAILABLE with the reason when not one event of the PMU counts. */
struct rf_error *counter_limits_find(const struct perf_source *source,
				     struct counter_limits *limits);
