/* Checks of what the timed run needs. */
#pragma once

#include "tracer/doctor/line.h"

check_fn check_paranoid, check_perf, check_timer, check_locked, check_descriptors;

/* Whether perf samples here. */
bool doctor_perf_works(const struct doctor_facts *facts);
