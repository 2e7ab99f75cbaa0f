/* The circle through places whose ways are longest on average (Karp 1978, A characterization of the
 * minimum cycle mean in a digraph). */
#pragma once

#include "base/error.h"

#include <stdint.h>

#define NO_WAY INT64_MIN

/* lengths[from * n + to]: of the way between two of n places, above or at 0, or NO_WAY.  Fills
 * `circle`, which has room for n, with the places of the circle with the largest mean length, in
 * their order; *n_circle: so many; 0: there is none.  Fails only when memory is short. */
struct rf_error *longest_circle(const int64_t *lengths, uint32_t n, uint32_t *circle,
				uint32_t *n_circle);
