/* The invariants of a row: its work and time, its loops, and its place under the roofs. */
#pragma once

#include "report/check/holds.h"
#include "report/model/model.h"

void check_row_work(struct check *check, const struct model_function *f);
void check_row_loops(struct check *check, const struct model_function *f);
void check_row_place(struct check *check, const struct model_function *f);
