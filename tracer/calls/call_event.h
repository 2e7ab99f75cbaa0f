/* The perf event of a breakpoint at an address of the program's code. */
#pragma once

#include <linux/perf_event.h>
#include <stdint.h>

/* Each hit is a record of PERF_RING_HIT_TYPE, while the event is enabled, in all threads that
 * the process starts and, but for inherit_thread, in all processes, until they execute another
 * program.  For the caller to set: wake-ups. */
struct perf_event_attr call_event_attributes(uint64_t address);
/* The same of an event that counts nothing, for the sake of records beside it: their trailers are
 * as those of hits.  It is on, and lasts beyond an execve.  For the caller to set: which records;
 * wake-ups. */
struct perf_event_attr call_event_records(void);
