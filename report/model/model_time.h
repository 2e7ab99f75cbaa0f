/* The times of rows, and of the whole program. */
#pragma once

#include "report/model/model_processes.h"
#include "report/model/model_rows.h"

/* From rows->times: time, samples, elapsed time and half-width of each row, the totals of the model
 * and of its processes. */
void model_time(struct model_rows *rows, const struct model_threads *threads, struct model *model);
