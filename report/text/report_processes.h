/* The tree of processes. */
#pragma once

#include "report/rows/view.h"

/* report_processes.c: the tree of processes, and with PROCESSES_TREE a table of functions for each;
 * nothing for a single process. */
struct rf_error *report_tree(const struct report_view *view, FILE *stream);
