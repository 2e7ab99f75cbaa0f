/* The names of the code that ran. */
#pragma once

#include "base/error.h"
#include "tracer/run/run_state.h"

/* Names the code of the profile, with debug files from servers where they were asked for. */
struct rf_error *run_resolve_names(struct run *run);
