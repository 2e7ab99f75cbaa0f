/* What is left of a core to the thread that asks: another thread may run on the core's other
 * hardware thread, of this machine or, in a virtual one, of somebody else's. */
#pragma once

#include "machine/data/core_facts.h"

#include <stdbool.h>

/* cycles[i]: of one instruction of each kind, in cycles of the core's own clock, by some 4 us of
 * each between two chains of the same length; *tick_cycles: cycles in a tick of the time stamp
 * counter.  False: the clock changed meanwhile, or something else ran.  From one thread at a time.
 */
bool core_rates_look(double cycles[CORE_RATES], double *tick_cycles);
