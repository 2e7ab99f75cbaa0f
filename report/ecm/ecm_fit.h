/* Which rule of overlap a machine follows, and what its links move: by kernels whose traffic is
 * known and whose times were measured ([H] 4.1.3: assume, predict, compare, level by level). */
#pragma once

#include "report/ecm/ecm.h"

/* One measured kernel; its unit of work is any, the same in all of its members. */
struct ecm_kernel {
	double nol;             /* cycles with all data in L1 */
	struct ecm_moves moves; /* bytes; 0 beyond the level that its data are in */
	int borders;   /* that its data cross: 1 (they are in L2), 2 (in L3), 3 (in memory) */
	double cycles; /* measured */
};

struct ecm_fit {
	const struct ecm_rule *rule; /* NULL: there is none */
	bool past_l3;                /* ecm_by_link() */
	struct ecm_link links[ECM_PARTS];
	/* Of the kernels' times, relative: the root of the mean square of log(predicted /
	 * measured). */
	double error;
};

/* Cycles of a kernel; `nol` and its moves are used alone. */
double ecm_predict(const struct ecm_fit *fit, const struct ecm_kernel *kernel);

/* The links of a rule that predict the kernels with the least error; those of levels without a
 * kernel take no time.  Each link has a bandwidth in each direction, and is half or full duplex;
 * memory is half duplex, and has the same bandwidths whether it is met past the L3 or through it.
 */
struct ecm_fit ecm_fit_rule(const struct ecm_rule *rule, bool past_l3,
			    const struct ecm_kernel *kernels, size_t n);

/* Tries all rules; with a victim L3 each with data from memory through it and past it.  `best` has
 * the least error, `second` that of all other rules: a rule that predicts as well as another is
 * told after it when it stands behind it in the table.  Both have a rule, whatever the kernels are.
 */
void ecm_fit_all(const struct ecm_kernel *kernels, size_t n, bool victim_l3, struct ecm_fit *best,
		 struct ecm_fit *second);
