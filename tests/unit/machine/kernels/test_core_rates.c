/* What a core does of each kind of instruction: no core of x86-64 does more than twelve in a cycle,
 * and none that has a moment for itself takes longer than is said here. */
#include "machine/kernels/core_rates.h"

#include <criterion/criterion.h>
#include <math.h>

Test(core_rates, are_those_of_some_core)
{
	static const double most[CORE_RATES] = {
		[CORE_RATE_SLOTS] = 1, [CORE_RATE_INTEGER] = 1, [CORE_RATE_VECTOR] = 4,
		[CORE_RATE_LOADS] = 2, [CORE_RATE_STORES] = 2,  [CORE_RATE_BRANCHES] = 60,
	};
	double least[CORE_RATES], cycles[CORE_RATES], tick_cycles;
	int taken = 0;
	for (int i = 0; i < CORE_RATES; i++)
		least[i] = INFINITY;
	for (int look = 0; look < 2000; look++) {
		if (!core_rates_look(cycles, &tick_cycles))
			continue;
		taken++;
		cr_expect(tick_cycles > 0.01 && tick_cycles < 100, "%g", tick_cycles);
		for (int i = 0; i < CORE_RATES; i++)
			least[i] = fmin(least[i], cycles[i]);
	}
	cr_assert(taken > 20, "%d looks", taken);
	for (int i = 0; i < CORE_RATES; i++)
		cr_expect(least[i] > 1.0 / 12 && least[i] < most[i], "%s: %g cycles",
			  core_left_fact((enum core_rate)i), least[i]);
	/* a slot is needed by each, and every second branch begins anew */
	cr_expect(least[CORE_RATE_SLOTS] < 1.1 * least[CORE_RATE_INTEGER]);
	cr_expect(least[CORE_RATE_BRANCHES] > 3, "%g", least[CORE_RATE_BRANCHES]);
}
