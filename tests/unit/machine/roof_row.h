/* A row of roofs that is made up. */
#pragma once

#include "machine/data/machine.h"

#include <string.h>

/* `what`: a precision of compute, else a level.  All its rates are `best`. */
static inline struct roof roof_row(enum roof_kind kind, const char *what, const char *op,
				   int threads, double best)
{
	struct roof row = {.kind = kind,
			   .isa = ROOF_ISA_AVX2,
			   .op = roof_op_find(op),
			   .threads = threads,
			   .best = best,
			   .median = best,
			   .q1 = best,
			   .q3 = best,
			   .distinguishable = true};
	if (kind == ROOF_COMPUTE)
		row.precision = roof_precision_find(what);
	else
		row.level = roof_level_find(what);
	strcpy(row.unit, kind == ROOF_COMPUTE ? "GFLOP/s" : "GB/s");
	return row;
}
