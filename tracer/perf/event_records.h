/* What records of perf events have in common, whatever the event counts. */
#pragma once

#include <linux/perf_event.h>

/* Each record ends with its thread and its time, by CLOCK_MONOTONIC. */
void event_records_have_times(struct perf_event_attr *attr);
/* There are records of mappings of code, with build ids, and of programs that are executed.  The
 * kernel tells of one mapping to all events with the same header, and marks it as one with a build
 * id also for those that have not asked for it: so all ask for it. */
void event_records_tell_mappings(struct perf_event_attr *attr);
