/* What a core has under way at once. */
#pragma once

#include "report/model/model.h"

/* Instructions that the core of a profile has under way at most. */
double ecm_reorder_buffer(const struct profile *profile);
/* `buffer`: the instructions that are under way at most (ecm_reorder_buffer, or fewer of some
 * code). How many things that code of a function waits for, and that do not wait for each other,
 * are under way at once: as many as lie within a reorder buffer; at least 1.  The code has `own` of
 * them in an instruction, and `run_through` instructions from when it is entered until it is left:
 * where these are less than the buffer holds, what lies around it has as many as the program on
 * average, in which there are `all`. */
double ecm_under_way(const struct model_function *function, double buffer, double own, double all,
		     double run_through);
