/* What hardware counters count, by microarchitecture, as data: one .def file for each, in tables/.
 *
 * The formulas are those of Ofenbeck et al. 2014, table II, and of Gravelle et al. 2022, algorithms
 * 9 to 16: a quantity is the sum over its rows of multiplier x count.  An event is a string of
 * libpfm4 ("pmu::EVENT:UMASK"), so that encodings are that library's affair.
 *
 * All rows of a quantity in one table are of one kind: all of the core or all of the uncore, all
 * reliable or none. A table has EVENT_FLOP_ANY or flop by precision, never both. */
#pragma once

#include "base/error.h"

#include <linux/perf_event.h>
#include <stddef.h>

/* What a row adds to.  Flop by precision where the processor tells them apart, else together. */
enum event_quantity {
	EVENT_CYCLES,       /* core clock, not the time stamp counter */
	EVENT_INSTRUCTIONS, /* retired */
	EVENT_FLOP_HP,
	EVENT_FLOP_SP,
	EVENT_FLOP_DP,
	EVENT_FLOP_ANY, /* of any precision */
	EVENT_FP_INSTRUCTIONS,
	EVENT_LOADS,
	EVENT_STORES,   /* retired instructions or operations; the row says which */
	EVENT_L1_BYTES, /* between L1 and L2: lines in, and out where that is counted */
	EVENT_L2_BYTES, /* between L2 and L3 */
	/* Lines that missed the last cache: a lower bound of memory traffic. */
	EVENT_LLC_MISS_BYTES,
	EVENT_MEMORY_READ_BYTES,
	EVENT_MEMORY_WRITE_BYTES, /* at the memory controller (uncore) */
	EVENT_LS_BYTES, /* between registers and L1, estimated from kinds of instructions */
	N_EVENT_QUANTITIES
};

/* Flags of a row. */
enum {
	EVENT_SPECULATIVE = 1 << 0, /* counts what is not retired too */
	EVENT_UNCORE = 1 << 1,      /* of the whole package, not of a thread: named, not counted */
	EVENT_UNRELIABLE = 1 << 2, /* an erratum makes it wrong: used only when asked for by name */
	EVENT_FMA_TWICE = 1 << 3,  /* a fused multiply-add counts as two, by itself */
	/* Takes two counters as one (AMD's merge event).  In a virtual machine (KVM on Zen 3) what
	 * is counted beside such a pair is off now and then: a counter that is put back to work
	 * keeps its value of before, and the total grows by a period. */
	EVENT_PAIRED = 1 << 4,
};

struct event_row {
	enum event_quantity quantity;
	const char *event; /* for libpfm4 */
	double multiplier; /* flop, instructions or bytes for each count; negative in corrections */
	unsigned flags;
	const char *meaning; /* one line */
	const char *erratum; /* what is known to be wrong with it, with its source; or NULL */
	const char *source;  /* manual and table, or paper */
};

struct event_table {
	const char *pmu;  /* name of the core PMU in libpfm4: "skx" */
	const char *name; /* "Intel Skylake X" */
	const struct event_row *rows;
	size_t n_rows;
	const char *lacks; /* what it cannot count and why, for the user; or NULL */
};

extern const struct event_table event_tables[];
extern const size_t n_event_tables;

/* The table of a PMU by libpfm4's name; NULL: there is none. */
const struct event_table *event_table_find(const char *pmu);
/* The table of the processor here, as libpfm4 detects it (by CPUID or its like, with or without a
 * PMU that can be used); NULL: there is none, or libpfm4 cannot be loaded. */
const struct event_table *event_table_here(void);
/* The encoding of "pmu::EVENT:UMASK" (or "perf::PAGE-FAULTS" and the like) for perf_event_open:
 * type, config, config1, config2; user code only.  RF_EINPUT with libpfm4's reason. */
struct rf_error *event_encode(const char *event, struct perf_event_attr *attr);
/* "flop_dp", "cycles", …: as files and options name it. */
const char *event_quantity_name(enum event_quantity quantity);
