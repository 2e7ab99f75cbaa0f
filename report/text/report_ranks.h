/* Ranks that were merged, in the terminal. */
#pragma once

#include "report/rows/view.h"

/* Lines between the head and the table: how many ranks there are, the slowest and the fastest, MPI;
 * with -v all calls of MPI and nodes.  Nothing for a profile without ranks. */
struct rf_error *report_ranks(const struct report_view *view, FILE *stream);
