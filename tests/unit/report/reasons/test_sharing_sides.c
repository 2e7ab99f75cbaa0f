/* By which two places a shared line is told. */
#include "report/reasons/sharing.h"

#include <criterion/criterion.h>

/* One line; its places with most accesses come first. */
static bool sides_of(struct profile_shared_place *places, size_t n, uint32_t sides[2])
{
	struct profile_shared_line line = {.accesses = 100};
	const struct profile p = {.shared_lines = &line,
				  .n_shared_lines = 1,
				  .shared_places = places,
				  .n_shared_places = n};
	return sharing_sides(&p, 0, NULL, sides);
}

Test(sharing_sides, one_of_them_writes)
{
	struct profile_shared_place places[] = {{.thread = 0, .loaded = 1},
						{.thread = 1, .loaded = 2},
						{.thread = 2, .loaded = 4, .stored = 4},
						{.thread = 0, .stored = 8}};
	uint32_t sides[2];
	cr_assert(sides_of(places, 4, sides));
	cr_expect(sides[0] == 0 && sides[1] == 2, "%u %u", sides[0], sides[1]);
	places[2].stored = 0;
	cr_assert(sides_of(places, 4, sides));
	cr_expect(sides[0] == 1 && sides[1] == 3, "%u %u", sides[0], sides[1]);
	places[3].stored = 0;
	cr_expect_not(sides_of(places, 4, sides), "all only read it");
}
