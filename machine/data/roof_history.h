/* The history of a row: it is measured now and again, and its best measurement is the roof.
 *
 * A machine may have several modes: a guest whose host moves it, or whose neighbours sleep, reads
 * memory at 90 GB/s in one hour and at 50 in the next, and each measurement by itself looks steady.
 * The best is what the machine can do; how far the others lie from it says how often it does. */
#pragma once

#include "machine/data/machine.h"

/* A rate below this part of the best is another mode of the machine, or a loaded machine: twice
 * what the rates of one mode were seen to lie apart. */
#define ROOF_MODE 0.8

/* Adds a measurement.  When there is no room the second oldest is forgotten, so that it is still
 * known since when the row is measured. */
void roof_history_add(struct roof *row, int64_t when_s, double best);

/* Takes a new measurement of the same row, with its own history, into `row`: the better best, and
 * the statistics of the repeats with it where all of that measurement was better. */
void roof_take_again(struct roof *row, const struct roof *again);

/* The lowest and highest of the history; false: there is none. */
bool roof_history_range(const struct roof *row, double *lowest, double *highest);
/* How many of the history lie below ROOF_MODE of the row's best. */
int roof_history_slow(const struct roof *row);
