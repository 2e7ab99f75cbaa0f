#include "tracer/pmu/event_groups.h"

#include "tests/unit/splitmix.h"

#include <criterion/criterion.h>
#include <string.h>

static struct event_groups make(const struct group_wish *wishes, size_t n, unsigned general,
				unsigned fixed)
{
	struct event_groups groups;
	const struct counter_limits limits = {general, fixed};
	cr_assert(event_groups_make(wishes, n, &limits, &groups));
	return groups;
}

/* Cycles and instructions on fixed counters, eight events of flop on eight general ones: one group.
 */
Test(event_groups, all_at_once_where_counters_suffice)
{
	struct group_wish wishes[10] = {{.fixed = 1, .everywhere = true},
					{.fixed = 0, .everywhere = true}};
	for (size_t i = 2; i < 10; i++)
		wishes[i] = (struct group_wish){.fixed = -1, .formula = 1};
	struct event_groups groups = make(wishes, 10, 8, 3);
	cr_assert(groups.n == 1);
	/* half of the counters, as with hyper-threads: the formula is cut, and fills two groups */
	groups = make(wishes, 10, 4, 3);
	cr_assert(groups.n == 2);
	for (size_t i = 2; i < 10; i++)
		cr_assert_eq(groups.group_of[i], groups.group_of[i < 6 ? 2 : 6]);
	/* without fixed counters the two take general ones of each group: 2 + 2 four times */
	groups = make(wishes, 10, 4, 0);
	cr_assert_eq(groups.n, 4);
}

Test(event_groups, impossible_is_refused)
{
	const struct group_wish wishes[2] = {{.fixed = -1, .everywhere = true}, {.fixed = -1}};
	const struct counter_limits one = {1, 0}, none = {0, 0};
	struct event_groups groups = {.n = 77};
	cr_assert_not(event_groups_make(wishes, 2, &one, &groups));
	cr_assert_not(event_groups_make(wishes, 1, &none, &groups));
	cr_assert_not(event_groups_make(wishes, 0, &one, &groups));
	cr_assert_not(event_groups_make(wishes, EVENT_GROUPS_MAX + 1, &one, &groups));
	cr_assert_eq(groups.n, 77);
	cr_assert(event_groups_make(wishes, 1, &one, &groups));
}

Test(event_groups, software_needs_no_counter)
{
	struct group_wish wishes[EVENT_GROUPS_MAX];
	for (size_t i = 0; i < EVENT_GROUPS_MAX; i++)
		wishes[i] = (struct group_wish){.fixed = -1, .software = true};
	cr_assert_eq(make(wishes, EVENT_GROUPS_MAX, 0, 0).n, 1);
}

/* --- the slow and obvious --- */

enum { MAX_SMALL = 5 };

struct trial {
	struct group_wish wishes[MAX_SMALL];
	size_t n;
	struct counter_limits limits;
};

/* General counters that the events of `group` need, with those everywhere: fixed counters by
 * counting heads. */
static unsigned needed(const struct trial *trial, const unsigned *group_of, unsigned group)
{
	unsigned general = 0, heads[32] = {0};
	for (size_t i = 0; i < trial->n; i++) {
		const struct group_wish *wish = &trial->wishes[i];
		if (wish->software || (!wish->everywhere && group_of[i] != group))
			continue;
		if (wish->fixed < 0 || !(trial->limits.fixed >> wish->fixed & 1) ||
		    heads[wish->fixed]++)
			general++;
	}
	return general;
}

static bool is_valid(const struct trial *trial, const unsigned *group_of, size_t n_groups,
		     bool whole)
{
	for (unsigned g = 0; g < n_groups; g++)
		if (needed(trial, group_of, g) > trial->limits.general)
			return false;
	for (size_t i = 0; whole && i < trial->n; i++)
		for (size_t k = 0; k < i; k++)
			if (trial->wishes[i].formula &&
			    trial->wishes[i].formula == trial->wishes[k].formula &&
			    !trial->wishes[i].everywhere && !trial->wishes[k].everywhere &&
			    group_of[i] != group_of[k])
				return false;
	return true;
}

/* Whether any of the n_groups^n ways to put events into groups is valid. */
static bool is_possible(const struct trial *trial, size_t n_groups)
{
	unsigned group_of[MAX_SMALL] = {0};
	for (;;) {
		if (is_valid(trial, group_of, n_groups, true))
			return true;
		size_t i = 0;
		while (i < trial->n && ++group_of[i] == n_groups)
			group_of[i++] = 0;
		if (i == trial->n)
			return false;
	}
}

static struct trial random_trial(uint64_t *state)
{
	struct trial trial = {.n = 1 + random_number(state) % MAX_SMALL};
	trial.limits.general = (unsigned)(random_number(state) % 5);
	trial.limits.fixed = (unsigned)(random_number(state) % 8);
	for (size_t i = 0; i < trial.n; i++)
		trial.wishes[i] = (struct group_wish){
			.fixed = (int)(random_number(state) % 6) - 3 < 0
					 ? -1
					 : (int)(random_number(state) % 3),
			.software = random_number(state) % 8 == 0,
			.everywhere = random_number(state) % 5 == 0,
			.formula = (unsigned)(random_number(state) % 4),
		};
	return trial;
}

/* Every small case is as good as the best of all ways; a formula is cut only where it fits into no
 * group. */
Test(event_groups, fewest_by_trying_all, .timeout = 100)
{
	uint64_t state = 6;
	size_t n_whole = 0, n_cut = 0, n_refused = 0;
	for (int round = 0; round < 3000; round++) {
		const struct trial trial = random_trial(&state);
		struct event_groups groups;
		if (!event_groups_make(trial.wishes, trial.n, &trial.limits, &groups)) {
			for (size_t n = 1; n <= trial.n; n++)
				cr_assert_not(is_possible(&trial, n), "round %d", round);
			n_refused++;
			continue;
		}
		size_t least = 1;
		while (least <= trial.n && !is_possible(&trial, least))
			least++;
		const bool whole = least <= trial.n;
		cr_assert(is_valid(&trial, groups.group_of, groups.n, whole), "round %d", round);
		if (whole)
			cr_assert_eq(groups.n, least, "round %d: %zu groups, %zu suffice", round,
				     groups.n, least);
		n_whole += whole;
		n_cut += !whole;
	}
	cr_assert(n_whole > 500 && n_cut > 100 && n_refused > 100, "%zu %zu %zu", n_whole, n_cut,
		  n_refused);
}

/* First-fit takes 4+4, 3+3+3 and 3: three groups. */
Test(event_groups, better_than_first_fit)
{
	struct group_wish wishes[20];
	size_t n = 0;
	static const unsigned sizes[] = {4, 4, 3,
					 3, 3, 3}; /* into two groups of ten: 4+3+3 twice */
	for (unsigned f = 0; f < 6; f++)
		for (unsigned i = 0; i < sizes[f]; i++)
			wishes[n++] = (struct group_wish){.fixed = -1, .formula = f + 1};
	struct event_groups groups = make(wishes, n, 10, 0);
	cr_assert(groups.n == 2);
}
