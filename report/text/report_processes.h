/* The tree of processes. */
#pragma once

#include "report/rows/view.h"

/* The tree, and with PROCESSES_TREE a table of functions for each; nothing for a single process.
 * Fails only when memory is short. */
struct rf_error *report_tree(const struct report_view *view, FILE *stream);
