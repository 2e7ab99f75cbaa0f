/* Loops that take a known number of cycles: chains of dependent register adds, one cycle each on
 * every x86-64 core. */
#pragma once

#include <stdint.h>

/* Cycles that one count of either loop takes at least, and takes when nothing disturbs it. */
#define CLOCK_CYCLES_PER_COUNT 256

void clock_adds(uint64_t count);

/* The same chain while the widest vectors of this CPU multiply and add, one FMA (without FMA3: a
 * multiplication) in two cycles: the clock may be lower then (Intel's AVX-512 licences). */
void clock_adds_with_vectors(uint64_t count);
