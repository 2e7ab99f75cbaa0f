/* What the measured rows of compute say that a function's work can reach at most.
 *
 * One rule makes the roof and every ceiling (docs/roofs.md, "Ceilings"): the work takes at least as
 * long as the measured kernels need for it, one after the other.  It follows that wider vectors are
 * never slower, that a mix lies between its parts one after the other and the slowest of them
 * alone, and that nothing is above the best that was measured. */
#pragma once

#include "report/model/model_roofs.h"

/* Rows that a roof stands on but which were not measured. */
struct model_lack {
	const char *precision; /* the one that stands in for its main precision, or NULL */
	enum roof_op op;       /* an operation that other ones stand in for, or ROOF_OP_NONE */
};

/* The roof of compute: the best form of the same work, which keeps its precisions, divisions and
 * square roots. */
struct model_rate model_top(const struct profile *profile, const struct model_function *function,
			    struct model_lack *lack);
/* Ceilings in GFLOP/s; 0: nothing of its main precision was measured.  That of its instructions as
 * they are. */
double model_mix_ceiling(const struct profile *profile, const struct model_function *function);
/* That of its kinds of instructions in vectors of at most that width; WIDTH_TILE: in whatever. */
double model_width_ceiling(const struct profile *profile, const struct model_function *function,
			   enum flop_width widest);

double model_flop_of_precision(const struct tally *tally, int precision);
