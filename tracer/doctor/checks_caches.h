/* Checks of what reports stand on: caches, roofs, names. */
#pragma once

#include "tracer/doctor/line.h"

check_fn check_caches, check_roofs, check_debuginfod;
