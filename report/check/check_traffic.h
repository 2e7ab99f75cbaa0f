/* The invariants of what moves between the levels of the memory hierarchy. */
#pragma once

#include "report/check/holds.h"
#include "report/model/model.h"

/* Of a row; without traffic nothing is checked. */
void check_row_traffic(struct check *check, const struct model_function *f);
/* What any code has moved between the levels, as traced. */
void check_bytes(struct check *check, const struct model_bytes *bytes);
