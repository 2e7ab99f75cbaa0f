/* Checks of what the counted run needs. */
#pragma once

#include "tracer/doctor/line.h"

check_fn check_scope, check_ptrace, check_memory, check_address_space, check_fsgsbase, check_bmi2;
