/* From a program to its profile: both runs of `rfprof PROGRAM`. */
#pragma once

#include "base/error.h"
#include "tracer/run/run_state.h"

/* Prepares a run: standard streams, the log, the program's file.  It must come before any file is
 * opened, since it keeps closed standard streams closed.  The options must outlive the run.
 * RF_EINPUT for a program that there is not. */
struct rf_error *run_create(const struct run_options *options, struct run **run);
/* NULL is allowed. */
void run_destroy(struct run *run);

/* Chooses the sources, runs the program, and names its code: then the profile is complete.
 * run->timed_status is the program's wait status; it is there where run->has_ended, whatever fails
 * behind the program's end. */
struct rf_error *run_program(struct run *run);
/* Whether what failed for want of memory, threads, or what a limit counts besides. */
bool run_is_shortage(const struct rf_error *error);
