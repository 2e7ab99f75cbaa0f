/* Where the bytes come from that functions move to and from memory. */
#pragma once

#include "report/model/model_rows.h"

/* Sets model->memory and each row's traffic, as far as it is known without the time: traced where
 * it was, else by the PMU where it was asked for that.  The sums of the rows come before.  Fails
 * only when memory is short. */
struct rf_error *model_memory(struct model_rows *rows, struct model *model);
