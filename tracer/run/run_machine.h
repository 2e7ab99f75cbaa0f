/* The roofs that a run's profile keeps. */
#pragma once

#include "base/error.h"
#include "tracer/run/run_state.h"

/* Takes the machine's roofs, measured now where they are not known yet, and the custom ones into
 * the profile, so that it can be redrawn anywhere. */
struct rf_error *run_take_machine(struct run *run);
