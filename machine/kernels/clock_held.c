/* What lasts, where clock_ghz of the roofs is the highest of short measurements. */
#include "machine/kernels/clock_held.h"

#include "base/clock.h"
#include "base/search.h"
#include "machine/kernels/clock_kernels.h"

#include <stdlib.h>

#define CHAINS 41
#define COUNTS 1200 /* 0.1 ms at 3 GHz */

static int compare(const void *a, const void *b)
{
	const double *x = a, *y = b;
	return rf_compare(*x, *y);
}

double clock_held_ghz(void)
{
	double ghz[CHAINS];
	for (int i = 0; i < CHAINS; i++) {
		const uint64_t start = clock_thread_ns(); /* others may run in between */
		clock_adds(COUNTS);
		const uint64_t ns = clock_thread_ns() - start;
		ghz[i] = (double)COUNTS * CLOCK_CYCLES_PER_COUNT / (double)(ns ? ns : 1);
	}
	qsort(ghz, CHAINS, sizeof(*ghz), compare);
	return ghz[CHAINS / 2];
}
