/* Runs the program once: timed, or counted. */
#pragma once

#include "base/error.h"
#include "tracer/run/run_state.h"

/* The native run, sampled, with hardware counters where they were chosen. */
struct rf_error *run_timed(struct run *run);
/* A counted run; as run 1, the only one, it is sampled too. */
struct rf_error *run_counted(struct run *run, int number);
