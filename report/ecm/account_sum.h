/* Sums of accounts. */
#pragma once

#include "report/ecm/loop_account.h"

/* Adds `times` as much as `part` takes, and what it lacks, to a sum; but for what was measured, and
 * what is left. */
void ecm_add_account(struct ecm_account *sum, const struct ecm_account *part, double times);
/* Sets what was measured, whose standard error is that of the number of its samples, and what of it
 * is not predicted. */
void ecm_set_measured(struct ecm_account *account, double seconds, double samples);
