/* The clock that lasts, beside chains whose cycles are known. */
#include "base/clock.h"
#include "machine/kernels/clock_held.h"
#include "machine/kernels/clock_kernels.h"

#include <criterion/criterion.h>
#include <math.h>

/* The median of many chains is no higher than the fastest of others, but for turbo, and is some
 * clock of a processor, however busy that is. */
Test(clock_held, is_no_higher_than_the_fastest_chain)
{
	double fastest = 0, held = INFINITY;
	for (int i = 0; i < 200; i++) {
		const uint64_t start = clock_now_ns();
		clock_adds(1000);
		fastest = fmax(fastest,
			       1000.0 * CLOCK_CYCLES_PER_COUNT / (double)(clock_now_ns() - start));
		if (i % 50 == 49)
			held = fmin(held, clock_held_ghz());
	}
	cr_expect(held > 0.02 && held < 2 * fastest, "%g beside %g", held, fastest);
}
