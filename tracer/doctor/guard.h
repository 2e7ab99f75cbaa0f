/* A function in a process of its own, with a time limit. */
#pragma once

#include "tracer/doctor/facts.h"

/* Calls fn(context) in a child; what it leaves must be in shared memory.  The child is killed when
 * it has not ended after `limit_ms`.  Where no process can be made the function runs in this one.
 */
struct doctor_ending guard_run(void (*fn)(void *context), void *context, unsigned limit_ms);
