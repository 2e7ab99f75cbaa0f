/* What hardware counters say of each row, and of it beside counted work; and where the bytes come
 * from that functions move to and from memory. */
#pragma once

#include "report/model/model_rows.h"

/* Fills model->quantities, the totals of all code, and rows->quantity_of. */
struct rf_error *model_quantities(struct model_rows *rows, struct model *model);
/* The quantity of a row that a counter is part of, added with 0 where the row has none yet; NULL
 * when memory is short. */
struct model_quantity *model_quantity_of(struct model_rows *rows, const struct model *model,
					 size_t row, uint32_t counter);
/* Sums up the profile's samples of counters: each row's quantities and, where work is from
 * counters alone, its tally.  model_quantities comes before. */
struct rf_error *model_sum_counters(struct model_rows *rows, const struct model *model);

/* Whether a run has both: counted execution and hardware counters. */
bool model_has_both(const struct profile *profile);
/* Flop by the PMU per flop counted, all lanes taken as active on both sides; NAN where one of them
 * has nothing. */
double model_flop_ratio(const struct model *model, const struct model_function *f);
/* Instructions by the PMU per instruction counted; NAN where one of them has nothing. */
double model_instruction_ratio(const struct model *model, const struct model_function *f);

/* Sets model->memory and each row's traffic, as far as it is known without the time: traced where
 * it was, else by the PMU where it was asked for that.  The sums of the rows come before.  Fails
 * only when memory is short. */
struct rf_error *model_memory(struct model_rows *rows, struct model *model);
