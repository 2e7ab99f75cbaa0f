/* Comparisons of figures that write a line where they do not hold. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum invariant {
#define INVARIANT(id, sentence) INVARIANT_##id,
#include "report/check/invariants.def"
#undef INVARIANT
	N_INVARIANTS
};

/* A report that is being checked. */
struct check {
	FILE *stream;     /* one line for each violation */
	const char *view; /* what rows are: "function", "thread", … */
	const char *row;  /* the name of the one at hand; "" for the whole program */
	size_t n_rows, n_broken;
	/* Of the profile: work is sampled by hardware counters; traffic has an error that is known;
	 * the simulation has fetched lines that nobody asked for. */
	bool sampled, spread, prefetch;
};

/* The relative error that sums of doubles in another order may have. */
#define CHECK_ROUNDING 1e-9

/* part ≤ whole.  `what`: which figures, with their unit; NAN holds. */
void check_part(struct check *check, enum invariant invariant, const char *what, double part,
		double whole);
void check_equal(struct check *check, enum invariant invariant, const char *what, double value,
		 double wanted);
void check_range(struct check *check, enum invariant invariant, const char *what, double value,
		 double low, double high);
/* A number that is not negative; NAN does not hold. */
void check_number(struct check *check, enum invariant invariant, const char *what, double value);
