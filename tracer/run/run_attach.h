/* `rfprof -p PID`: a process that runs already. */
#pragma once

#include "tracer/run/run_state.h"

/* Measures the process run->options->pid into the profile: times, places and threads; its work is
 * not counted, which the report says.  Its end, or that of the time, ends it. */
struct rf_error *run_attached(struct run *run);
