/* Ranks, nodes and calls of MPI as JSON. */
#pragma once

#include "report/json/json_writer.h"
#include "report/rows/view.h"

/* "ranks", "rank_nodes", "rank_summary" (null without ranks), "mpi". */
void report_json_ranks(struct json_writer *out, const struct report_view *view);
