/* How many instructions of a kind a core has under way at most: what its files of registers, and
 * its queues of loads and stores, hold. */
#pragma once

#include "machine/core/form_measure.h"

/* Fills facts->windows.  What is found is where two loads that come from memory, with so many such
 * instructions between them, no longer wait at the same time (Wong 2013, Measuring reorder buffer
 * capacity).  Takes some 20 ms. */
void window_size_measure(struct form_measure *measure, struct core_facts *facts);
