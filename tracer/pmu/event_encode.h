/* Events by their names in libpfm4. */
#pragma once

#include "base/error.h"

#include <linux/perf_event.h>

/* The encoding of "pmu::EVENT:UMASK" (or "perf::PAGE-FAULTS" and the like) for perf_event_open:
 * type, config, config1, config2; user code only.  RF_EINPUT with libpfm4's reason. */
struct rf_error *event_encode(const char *event, struct perf_event_attr *attr);
