/* Cores that are made up: the window that each was given is found. */
#include "machine/core/window_size.h"

#include <criterion/criterion.h>

struct core {
	int window;                /* instructions under way */
	double fences, line, each; /* ticks: around both loads; of a load; of an instruction */
	unsigned state;
};

/* Longer by up to a twentieth, as times are. */
static double ticks(void *of, int n, bool apart)
{
	struct core *core = of;
	core->state = core->state * 1103515245 + 12345;
	const double noise = 0.05 * ((core->state >> 16) % 1000) / 1000;
	const int one_after_another = apart || n > core->window;
	return (core->fences + core->line * (1 + one_after_another) + core->each * n) * (1 + noise);
}

Test(window_size, is_found_where_a_line_is_short_beside_fences)
{
	static const struct core cores[] = {
		{498, 500, 160, 0.02, 1},
		{240, 470, 160, 0.05, 2},
		{112, 30, 300, 0.1, 3},
		{64, 200, 250, 0.1, 4},
	};
	for (size_t i = 0; i < sizeof(cores) / sizeof(*cores); i++) {
		struct core core = cores[i];
		const double found = window_size_find(ticks, &core);
		cr_assert_eq(found, core.window, "%zu: %g", i, found);
	}
}

Test(window_size, is_not_told_where_nothing_is_waited_for)
{
	struct core core = {100, 600, 20, 0, 1};
	cr_assert(isnan(window_size_find(ticks, &core)));
}
