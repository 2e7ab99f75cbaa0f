/* The loops of functions. */
#pragma once

#include "report/model/model_rows.h"

/* Reads the code of each function among the rows that has time (model_code.h, model_irregular.h).
 * Where loops were asked for: gives each function its loops with their figures, and sets
 * model->loop_code.  The sums of the rows come before.  Fails only when memory is short. */
struct rf_error *model_find_loops(struct model_rows *rows, struct model *model);
