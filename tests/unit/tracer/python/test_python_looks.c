/* What is kept of looks, against all of them. */
#include "tests/unit/splitmix.h"
#include "tracer/python/python_looks.h"

#include <criterion/criterion.h>

enum { N_LOOKS = 3000, N_STACKS = 5, DEPTH = 4 };

static void stack_of(unsigned kind, struct python_frame frames[DEPTH])
{
	for (unsigned i = 0; i < DEPTH; i++)
		frames[i] = (struct python_frame){kind / 2 + i, kind * 10 + i, i == DEPTH - 1};
}

static void expect_stack(unsigned kind, const struct python_frame *found, size_t n)
{
	struct python_frame frames[DEPTH];
	stack_of(kind, frames);
	cr_assert_eq(n, kind ? DEPTH : 0);
	for (size_t i = 0; i < n; i++)
		cr_assert(found[i].function == frames[i].function &&
			  found[i].line == frames[i].line &&
			  found[i].is_entry == frames[i].is_entry);
}

/* One that is not sure counts only where no other is near enough. */
Test(python_looks, sure_ones_first)
{
	struct python_looks *looks = python_looks_create();
	struct python_frame frames[PYTHON_MAX_FRAMES];
	bool holds_gil;
	stack_of(1, frames);
	python_looks_add(looks, 7, 8, 1000, frames, DEPTH, true);
	stack_of(2, frames);
	python_looks_add(looks, 7, 8, 1100, frames, DEPTH, true);
	python_looks_ran(looks, 7, 8, 990, 1050);
	expect_stack(1, frames, python_looks_find(looks, 7, 8, 1099, 100, frames, &holds_gil));
	expect_stack(1, frames, python_looks_find(looks, 7, 8, 3000, 100, frames, &holds_gil));
	cr_expect_eq(python_looks_find(looks, 7, 8, 3001, 100, frames, &holds_gil), 0);
	stack_of(3, frames);
	python_looks_add(looks, 7, 8, 4000, frames, DEPTH, true);
	expect_stack(3, frames, python_looks_find(looks, 7, 8, 4100, 100, frames, &holds_gil));
	cr_expect_eq(python_looks_find(looks, 7, 8, 4101, 100, frames, &holds_gil), 0);
	python_looks_destroy(looks);
}

Test(python_looks, nearest_one)
{
	static uint64_t times[N_LOOKS];
	static unsigned kinds[N_LOOKS];
	struct python_looks *looks = python_looks_create();
	struct python_frame frames[PYTHON_MAX_FRAMES];
	uint64_t random = 1, time = 1000000000;
	bool holds_gil;
	for (size_t i = 0; i < N_LOOKS; i++) {
		/* odd distances, so that no two are equally far from an even time */
		time += (random_number(&random) % 8 ? 10000000 : 70000000) +
			2 * (random_number(&random) % 1000);
		times[i] = time;
		kinds[i] = i && random_number(&random) % 3
				   ? kinds[i - 1]
				   : (unsigned)(random_number(&random) % N_STACKS);
		stack_of(kinds[i], frames);
		python_looks_add(looks, 7, 8, time, frames, kinds[i] ? DEPTH : 0, kinds[i] & 1);
		python_looks_add(looks, 7, 9, time, frames, 0, false);
	}
	for (size_t i = 1; i < N_LOOKS; i++) {
		const uint64_t asked =
			times[i - 1] + random_number(&random) % (times[i] - times[i - 1]);
		const uint64_t before = asked - times[i - 1], after = times[i] - asked;
		const size_t nearest = before <= after ? i - 1 : i;
		if (before == after)
			continue;
		const size_t n =
			python_looks_find(looks, 7, 8, asked, 15000000, frames, &holds_gil);
		if ((before < after ? before : after) > 15000000) {
			cr_assert(n == 0 || kinds[i] == kinds[i - 1]);
			continue;
		}
		expect_stack(kinds[nearest], frames, n);
		if (kinds[nearest])
			cr_assert_eq(holds_gil, kinds[nearest] & 1);
	}
	cr_expect_eq(python_looks_find(looks, 8, 8, times[5], 15000000, frames, &holds_gil), 0);
	python_looks_forget(looks, times[N_LOOKS / 2]);
	cr_expect_eq(python_looks_find(looks, 7, 8, times[0], 15000000, frames, &holds_gil), 0);
	expect_stack(kinds[N_LOOKS - 1], frames,
		     python_looks_find(looks, 7, 8, times[N_LOOKS - 1], 15000000, frames,
				       &holds_gil));
	python_looks_destroy(looks);
}
