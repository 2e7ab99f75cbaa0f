/* What hardware counters say of each row, and of it beside counted work. */
#pragma once

#include "report/model/model_rows.h"

/* Fills model->quantities, the totals of all code, and rows->quantity_of. */
struct rf_error *model_quantities(struct model_rows *rows, struct model *model);
/* The place of a quantity in model->quantities; n_quantities where it was not asked for. */
size_t model_find_quantity(const struct model *model, const char *name);
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
