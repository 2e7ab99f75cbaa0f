/* The function at an address, against a walk over all functions. */
#include "base/array.h"
#include "profile/function_index.h"
#include "tests/unit/splitmix.h"

#include <criterion/criterion.h>
#include <string.h>

#define N_MODULES 4
#define SPACE 4000 /* offsets of a module */

static uint32_t any(uint64_t *state, size_t n)
{
	return (uint32_t)(random_number(state) % n);
}

static void add_function(struct profile *p, uint32_t module, uint64_t start, uint64_t end)
{
	const struct profile_function function = {.module = module,
						  .start = start,
						  .end = end,
						  .name = strdup("f"),
						  .file = strdup("")};
	cr_assert(rf_array_push(p->functions, p->n_functions, p->cap_functions, function));
}

/* Functions without overlaps, with gaps between some of them, in any order; one module has none. */
static struct profile *random_profile(uint64_t *state)
{
	static const char *const paths[N_MODULES] = {"/a", "/b", "/c", "/d"};
	struct profile *p = profile_create();
	for (size_t m = 0; m < N_MODULES; m++)
		profile_module(p, paths[m], "");
	for (uint32_t m = 0; m + 1 < N_MODULES; m++)
		for (uint64_t at = any(state, 50); at < SPACE;
		     at += any(state, 2) ? any(state, 90) : 0) {
			const uint64_t end = at + 1 + any(state, 100);
			add_function(p, m, at, end);
			at = end;
		}
	for (size_t i = p->n_functions; i-- > 1;) {
		const size_t k = any(state, i + 1);
		const struct profile_function kept = p->functions[i];
		p->functions[i] = p->functions[k];
		p->functions[k] = kept;
	}
	return p;
}

static uint32_t walk(const struct profile *p, uint32_t module, uint64_t offset)
{
	for (uint32_t i = 0; i < p->n_functions; i++)
		if (p->functions[i].module == module && offset >= p->functions[i].start &&
		    offset < p->functions[i].end)
			return i;
	return PROFILE_NONE;
}

Test(function_index, finds_what_a_walk_finds)
{
	uint64_t state = 5;
	for (int round = 0; round < 20; round++) {
		struct profile *p = random_profile(&state);
		cr_assert_null(profile_index_functions(p));
		for (uint32_t module = 0; module < N_MODULES; module++)
			for (uint64_t offset = 0; offset < SPACE + 300; offset++) {
				uint64_t end;
				const uint32_t found = profile_function_at(p, module, offset, &end);
				cr_assert_eq(found, walk(p, module, offset));
				/* the answer holds up to the end, and not there */
				cr_assert_gt(end, offset);
				if (end == UINT64_MAX)
					continue;
				cr_assert_eq(walk(p, module, end - 1), found);
				cr_assert_neq(walk(p, module, end), found);
			}
		profile_destroy(p);
	}
}

Test(function_index, places_are_functions_then_modules_then_the_rest)
{
	struct profile *p = profile_create();
	profile_module(p, "/a", "");
	profile_module(p, "/b", "");
	add_function(p, 1, 0x10, 0x20);
	uint64_t end;
	const uint32_t root = profile_frame(p, PROFILE_NONE, 1, 0x18);
	profile_frame(p, root, 0, 0x18);
	profile_frame(p, root, PROFILE_NONE, 7);
	uint32_t *places = profile_places_of_frames(p);
	cr_assert_not_null(places);
	cr_expect_eq(profile_n_places(p), 4);
	cr_expect_eq(places[0], 0);
	cr_expect_eq(places[1], 1);
	cr_expect_eq(places[2], 3);
	cr_expect_eq(profile_place_at(p, 1, 0x20, &end), 2);
	cr_expect_eq(end, UINT64_MAX);
	cr_expect_eq(profile_place_at(p, 1, 0x0, &end), 2);
	cr_expect_eq(end, 0x10);
	free(places);
	/* a function that comes later is taken in */
	add_function(p, 0, 0x10, 0x20);
	cr_assert_null(profile_index_functions(p));
	cr_expect_eq(profile_place_at(p, 0, 0x18, NULL), 1);
	cr_expect_eq(profile_place_at(p, 1, 0x18, NULL), 0);
	profile_destroy(p);
}
