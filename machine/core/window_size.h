/* How many instructions of a kind a core has under way at most: what its files of registers, and
 * its queues of loads and stores, hold. */
#pragma once

#include "machine/core/form_measure.h"

/* Fills facts->windows.  What is found is where two loads that come from memory, with so many such
 * instructions between them, no longer wait at the same time (Wong 2013, Measuring reorder buffer
 * capacity).  Takes some 20 ms. */
void window_size_measure(struct form_measure *measure, struct core_facts *facts);

/* Ticks that two loads from memory take with `n` instructions between them; `apart`: the second one
 * waits for the first. */
typedef double window_ticks(void *of, int n, bool apart);

/* The most instructions with which both loads wait at once; NAN: it takes hardly longer when they
 * do not. */
double window_size_find(window_ticks *ticks, void *of);
