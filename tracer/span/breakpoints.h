/* When the functions of a span are entered in the timed run: breakpoints of the processor, which
 * perf_event_open follows in all threads (PERF_TYPE_BREAKPOINT).  The program is not stopped.  A
 * function is no longer watched once its first entry has been seen; its return is watched from then
 * on. */
#pragma once

#include "base/error.h"
#include "tracer/process/marks.h"
#include "tracer/span/span.h"

#include <sys/types.h>

struct breakpoints;

/* Watches a process that stands at its entry point.  Errors: RF_EINPUT a function is in none of its
 * files; RF_EUNAVAILABLE breakpoints are refused. */
struct rf_error *breakpoints_start(struct span *span, pid_t pid, struct breakpoints **out);
/* All that happened before has been seen; NULL is allowed. */
void breakpoints_stop(struct breakpoints *breakpoints);
/* Up to which moment, not behind `time` (ns), it is known whether it is of the span; from any
 * thread.  `span`, `breakpoints`: or NULL. */
uint64_t breakpoints_known_until(const struct span *span, const struct breakpoints *breakpoints,
				 uint64_t time);
