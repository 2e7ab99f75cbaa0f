/* The time account of a function and of its loops: what it must take by the ECM model, part by
 * part, beside what it took.  All times are seconds of processor time, of all threads together;
 * what is said of a loop or a function has the loops within it.
 *
 * The account is made of *pieces*: the own code of each loop, and the code that is in no loop.  Of
 * a piece the model tells which parts add up and which are hidden behind them; accounts of pieces
 * are sums. */
#pragma once

#include "report/ecm/ecm_machine.h"
#include "report/ecm/mispredictions.h"
#include "report/ecm/page_walks.h"
#include "report/in_core/in_core.h"
#include "report/model/model.h"

/* What adds up to the measured time. */
enum ecm_account_part {
	ACCOUNT_CORE,  /* instructions, execution units, loads and stores in L1 */
	ACCOUNT_CHAIN, /* each turn waits for the one before */
	ACCOUNT_L1_L2, /* transfers that nothing hides */
	ACCOUNT_L2_L3,
	ACCOUNT_MEMORY,
	ACCOUNT_LATENCY, /* lines that nothing fetches ahead: what is not hidden behind the above */
	ACCOUNT_WALKS,   /* walks through the page tables, where a TLB was simulated */
	ACCOUNT_BRANCHES, /* mispredicted ones: behind each the code begins anew */
	ACCOUNT_SHARED,   /* by which the core was slower since another hardware thread used it */
	ACCOUNT_REST,     /* measured less predicted; below 0: it was faster than predicted */
	ACCOUNT_PARTS
};

/* What could be changed in a loop; docs/ecm.md, "What if". */
enum ecm_change {
	CHANGE_VECTORS,    /* its accesses and flop in the widest vectors that pay here */
	CHANGE_BLOCKED,    /* what comes from beyond L2 comes from L2 */
	CHANGE_PREDICTED,  /* no branch is mispredicted */
	CHANGE_PREFETCHED, /* irregular and far lines are there when they are needed */
	CHANGE_PAGES,      /* all pages are in the TLBs' reach */
	ECM_CHANGES
};

/* What an account lacks, as a set; it is then of the rest, and a prediction may be too low. */
enum ecm_lack {
	ECM_LACKS_NOTHING = 0,
	ECM_LACKS_COUNTS = 1,  /* nothing was counted, it is no code of the program, or it waits for
				* other threads: there is no prediction */
	ECM_LACKS_CLOCK = 2,   /* the same */
	ECM_LACKS_TRAFFIC = 4, /* nothing was traced: it counts as if all data were in L1 */
	ECM_LACKS_ROOFS = 8,   /* no bandwidth was measured: the same */
	ECM_LACKS_LATENCY = 16,  /* that of irregular lines was not measured: they take no time */
	ECM_LACKS_SAMPLES = 32,  /* there is no measured time */
	ECM_LACKS_BRANCHES = 64, /* no outcomes, or not what a misprediction costs: none takes time
				  */
	ECM_LACKS_SIGHT = 128, /* too little of it was traced: the interval of what it moved reaches
				* from nothing to what would take more than a tenth of its time; it
				* counts with what was seen */
	ECM_LACKS_CALLS = 256  /* most of it are loops that call what cannot be followed: there is
				* no prediction */
};
/* Where one of these is lacking what crosses the links is not known. */
#define ECM_LACKS_TRANSFERS (ECM_LACKS_TRAFFIC | ECM_LACKS_ROOFS | ECM_LACKS_SIGHT)

struct ecm_account {
	unsigned lacks; /* enum ecm_lack */
	double turns;   /* of the header; NAN: of a function */
	double flop;
	/* By themselves, s: what goes on at once counts in full. */
	double parts_s[ECM_PARTS];
	/* Of a piece: how many times as long ECM_OL and ECM_NOL took beside another hardware thread
	 * of the core; below 1: as long. */
	double slower[ECM_FIRST_LINK];
	double lcd_s, latency_s;
	/* Where the chain of a loop goes through the loads of lines that are waited for one after
	 * another: how long these take, and what it takes beside them. */
	double chained_lines_s, beside_lines_s;
	double walks_s;          /* what lines take longer whose pages are in no TLB */
	struct page_walks walks; /* none where no TLB was simulated */
	struct mispredictions mispredicted;
	double in_core_s[IN_CORE_PARTS];
	/* What adds up, s. */
	double account_s[ACCOUNT_PARTS];
	double light_s; /* light speed of the code as written: without latency, mispredictions and
			 * other threads at the memory; NAN without a prediction, as all of the
			 * above */
	double memory_busy_s; /* of the memory itself, for its transfers */
	/* Instructions of loops that call what cannot be followed (CALLS_UNKNOWN). */
	double unknown_calls;
	double predicted_s; /* the account but for its rest */
	/* The same at the ends of the 95 % intervals of what moved, which is from a sample of the
	 * caches' sets, and of what was mispredicted. */
	double least_s, most_s;
	double changed_s[ECM_CHANGES]; /* predicted_s if that alone were changed, everywhere within
					*/
	/* predicted_s if machine->threads[i] threads ran it at once, as its core is now: of all of
	 * them together; each takes that over their number */
	double at_threads_s[ECM_THREADS];
	double measured_s, stderr_s; /* by samples; NAN without any; 0 samples make no error */
};

/* Of one function. */
struct ecm_function {
	struct ecm_account whole;
	struct ecm_account *loops; /* f->n_loops */
	/* f->n_loops: of those that call short functions, together with these
	 * (joined_account.h); `turns` of others are 0. */
	struct ecm_account *with_calls;
};

/* `f`: of a model that has loops.  Fails only when memory is short; deinit in any case. */
struct rf_error *ecm_function_init(struct ecm_function *account, const struct ecm_machine *machine,
				   const struct profile *profile, const struct model *model,
				   const struct model_function *f);
void ecm_function_deinit(struct ecm_function *account);

/* Whether there is a prediction. */
bool ecm_is_predicted(const struct ecm_account *account);
/* The part but for the rest that takes most, ACCOUNT_CORE together with ACCOUNT_SHARED;
 * ACCOUNT_REST where that is more than all of these, or there is no prediction. */
enum ecm_account_part ecm_largest(const struct ecm_account *account);
/* What that change would save of the measured time, s: of the predicted time what the model has
 * less with it; of code that is faster than predicted in proportion.  0 where nothing is measured
 * or predicted. */
double ecm_saved_s(const struct ecm_account *account, enum ecm_change change);
/* Seconds as cycles a turn; NAN without turns or clock. */
double ecm_cycles_a_turn(const struct ecm_machine *machine, const struct ecm_account *account,
			 double seconds);
/* How many threads that run it saturate the memory ([H] 3.4.4); INFINITY: no number of them does,
 * or there is no prediction. */
double ecm_saturating_threads(const struct ecm_account *account);
/* How long it takes by the clock if machine->threads[i] threads share the work, s: of an account
 * that is predicted. */
double ecm_wall_s(const struct ecm_machine *machine, const struct ecm_account *account, size_t i);
/* The memory links together, s. */
double ecm_memory_s(const struct ecm_account *account);
