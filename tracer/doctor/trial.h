/* What the counted run needs of the kernel, tried. */
#pragma once

#include "tracer/doctor/facts.h"

/* Traces a child of its own, as the counted run does a program: seizes it, stops it, reads its
 * registers and memory. */
struct doctor_trial doctor_try_tracing(void);
/* Makes a memfd, maps it writable and executable at two places, and runs a function in it. */
struct doctor_trial doctor_try_memory(void);
