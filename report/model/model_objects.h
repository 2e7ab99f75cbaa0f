/* Which data objects the memory traffic of rows belongs to. */
#pragma once

#include "base/error.h"

struct model_rows;
struct model_traffic;

/* Sums up the objects of each row's traffic.  The profile has the lines of objects for fewer
 * classes of sets than it has lines of traffic for.  So of each instruction's traffic (its estimate
 * from `n_classes` classes) every object gets its share of the lines of that instruction whose
 * objects are known: what objects move is never more than what the row moves.  Fails only when
 * memory is short. */
struct rf_error *model_sum_objects(struct model_rows *rows, unsigned n_classes);

/* Those with most traffic first. */
void model_sort_objects(struct model_traffic *traffic);
