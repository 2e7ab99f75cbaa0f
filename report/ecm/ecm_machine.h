/* The machine of a profile as the ECM model sees it: its clock, its links and its rule of overlap,
 * from its measured roofs. */
#pragma once

#include "profile/profile.h"
#include "report/ecm/ecm_fit.h"

struct measured_core;
struct far_accesses;
struct loop_replays;
enum ecm_source {
	ECM_NO_ROOFS, /* not even reading was measured: there is no prediction of transfers */
	ECM_PRIOR,    /* too few kernels: the rule of the microarchitecture in [H], or that nothing
		       * overlaps; links as they fit to that */
	ECM_FITTED    /* the rule that predicts the kernels best */
};

#define ECM_THREADS 24
struct ecm_machine {
	double clock_ghz; /* that the machine held; NAN: not known, and nothing is in cycles */
	enum ecm_source source;
	bool victim_l3;     /* as simulated; false where nothing was */
	struct ecm_fit fit; /* links in 1e9 bytes per second, of one thread */
	/* By accesses of 8 bytes, with the same rule: eight accesses to a line take more of the
	 * buffers for lines under way than one.  Without a rule: not measured. */
	struct ecm_fit narrow;
	struct ecm_fit second; /* of the best other rule; without a rule: none was tried */
	size_t n_kernels;      /* behind the fit */
	double vector_bytes;   /* the widest vectors that pay: 16, 32 or 64 */
	/* So many threads are predicted: 1 and up to all that a program can have run at once, some
	 * of those between where these are many. */
	double threads[ECM_THREADS];
	size_t n_threads;
	/* What instructions take in its core; NULL: loops get what is known of all. */
	const struct measured_core *core;
	/* Instructions of the profile that step far; NULL: none are known. */
	const struct far_accesses *far;
	/* Loops that were run again by themselves; NULL: none were. */
	const struct loop_replays *replays;
};

/* Takes some 2 ms. */
struct ecm_machine ecm_machine_of(const struct profile *profile);
