/* By which two places a shared line is told, and how often it moved. */
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

/* Of a function with half of a line's accesses. */
static double moves_by(double mixed)
{
	struct profile_function function = {.start = 0, .end = 100};
	struct profile_shared_line line = {.kind = SHARING_TRUE,
					   .accesses = 100,
					   .transfers_at_most = 1000,
					   .transfers_seen = 4,
					   .mixed = mixed};
	struct profile_shared_place place = {.offset = 10, .accesses = 50};
	const struct profile p = {.functions = &function,
				  .n_functions = 1,
				  .shared_lines = &line,
				  .n_shared_lines = 1,
				  .shared_places = &place,
				  .n_shared_places = 1};
	const struct model_function f = {.function = 0};
	return sharing_of_function(&p, &f, SHARING_TRUE).moves;
}

Test(sharing_sides, who_has_a_line_one_after_the_other_moves_it_as_often_as_was_seen)
{
	cr_expect_eq(moves_by(1), 500);
	cr_expect_eq(moves_by(0.5), 250);
	cr_expect_eq(moves_by(0.1), 2);
	cr_expect_eq(moves_by(0), 2);
}
