/* What a core can do by its documents: the theory that stands beside a measured roof.
 *
 * The data are rows of microarchitectures.def, found by CPUID's vendor, family and model.  What is
 * not documented, or what the model number does not tell, is 0: a wrong theory is worse than none.
 */
#pragma once

#include "machine/data/roof_terms.h"

#include <stdbool.h>

/* Index of a value that depends on the vector width. */
enum theory_width { THEORY_128, THEORY_256, THEORY_512, THEORY_WIDTHS };

/* Models `first` to `last` of one family of one vendor (CPUID leaf 0: "GenuineIntel"). */
struct cpu_models {
	const char *vendor;
	unsigned family, first, last;
};

/* Rates are instructions per cycle of one core, times are cycles per instruction; 0: not known, or
 * not there. */
struct microarchitecture {
	const char *name;
	struct cpu_models models[6];
	/* Rates by width: FMA, add, multiply, and FMA and adds together.  Scalars share the units
	 * of 128 bits; single and double run equally fast. */
	double fma[THEORY_WIDTHS], add[THEORY_WIDTHS], mul[THEORY_WIDTHS],
		fma_and_add[THEORY_WIDTHS];
	double half[THEORY_WIDTHS]; /* FP16: FMA, add and multiply alike */
	double dot_bfloat16[THEORY_WIDTHS], dot_int8[THEORY_WIDTHS]; /* VDPBF16PS, VPDPBUSD */
	/* Times of division and square root: scalar, then by width. */
	double div_single[1 + THEORY_WIDTHS], div_double[1 + THEORY_WIDTHS],
		sqrt_single[1 + THEORY_WIDTHS];
	double x87;   /* rate of FADD, and of FMUL */
	double issue; /* instructions of any kind, where more than 6 are documented */
	int reorder;  /* instructions in flight: entries of the reorder buffer */
	/* Rates of general register instructions between registers: ADD and XOR alike, IMUL. */
	double integer, imul32, imul64;
	/* Rates of PADDx, PMULLD and PXOR. */
	double vector_add[THEORY_WIDTHS], vector_mul32[THEORY_WIDTHS], vector_logic[THEORY_WIDTHS];
	double amx_bfloat16, amx_half, amx_int8; /* operations (2 a product) per cycle */
	/* Vector loads and stores per cycle from and to L1, and both together. */
	double loads[THEORY_WIDTHS], stores[THEORY_WIDTHS], memory[THEORY_WIDTHS];
	double l2_bytes;  /* from L2 to L1 per cycle */
	bool hybrid;      /* these models have other cores too: the row is the P-core's */
	const char *note; /* why something is not known, or NULL */
};

extern const struct microarchitecture microarchitectures[];
extern const unsigned n_microarchitectures;

/* What a processor has by CPUID whatever its number says. */
struct core_features {
	bool avx512, amx, amx_half;
};

/* The row of what a processor is that is said to be `row` and has these units: a hypervisor may
 * tell another number.  One with AMX that the row does not have is taken for the first with such
 * cores; with AVX-512 that it does not have: NULL.  (Hybrid CPUs had AVX-512 until their firmware
 * took it from them.)  Of an unknown number (NULL) nothing is known: it may be that of a newer
 * core. */
const struct microarchitecture *microarchitecture_with(const struct microarchitecture *row,
						       const struct core_features *features);

/* The row of the number that this CPU tells, or NULL; microarchitecture_here may be another one. */
const struct microarchitecture *microarchitecture_told(void);

/* The row of this CPU, or NULL: not in the table.  On a hybrid CPU the row of the kind of core that
 * the calling thread may run on (CPUID leaf 1AH, asked on each), NULL when it may run on both. */
const struct microarchitecture *microarchitecture_here(void);

/* The row of a CPU by CPUID's vendor string and its family and model with the extended fields
 * added, or NULL.  Of a hybrid CPU: the row of its P-cores. */
const struct microarchitecture *microarchitecture_find(const char *vendor, unsigned family,
						       unsigned model);

/* The row of that name (may be NULL), or NULL. */
const struct microarchitecture *microarchitecture_named(const char *name);

/* Operations per cycle of one core with all units busy: lanes × units, an FMA is 2, a dot product 2
 * a product; 0: not known.  A mix of a FMA to b adds takes as long as its busiest units. */
double theory_compute(const struct microarchitecture *row, enum roof_isa isa,
		      enum roof_precision precision, enum roof_op op);

/* Instructions of any kind that a core of the microarchitecture of that name (may be NULL) handles
 * in a cycle, at most; 0: not known to be more than others. */
double theory_issue(const char *name);

/* Instructions that a core of that microarchitecture (may be NULL) has in flight; 0: not known. */
int theory_reorder(const char *name);

/* Bytes per cycle that loads and stores of one core can move (the bytes of docs/roofs.md: no
 * write-allocate); 0: not known.  L1: read, write, copy, update, triad and daxpy with whole vectors
 * of isa; L2: read, the width of the path from L2 to L1. */
double theory_bandwidth(const struct microarchitecture *row, enum roof_level level, enum roof_op op,
			enum roof_isa isa);
