/* Ranges of code, each with a row. */
#pragma once

#include "report/model/model.h"

struct code_ranges {
	struct model_range *all;
	size_t n, cap;
};

/* Adds a range unless it is empty.  Fails only when memory is short. */
struct rf_error *code_ranges_add(struct code_ranges *ranges, struct model_range range);
/* Sorts; a range ends where the next one begins. */
void code_ranges_cut(struct code_ranges *ranges);
/* Adds all code of a profile, in order and without overlaps, with the rows of the plain model.
 * Fails only when memory is short. */
struct rf_error *code_ranges_find(const struct profile *profile, struct code_ranges *all);
