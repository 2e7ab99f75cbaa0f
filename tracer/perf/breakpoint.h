/* Breakpoints of the processor as perf events. */
#pragma once

#include <linux/perf_event.h>
#include <stdint.h>

/* What all breakpoints at code have in common: each time that a thread comes to the instruction at
 * `address`, in the program's own code, is one event.  For the caller to set: what is told of it,
 * who inherits it, whether it begins turned off. */
struct perf_event_attr breakpoint_attributes(uint64_t address);
