/* Which events are kept together, with a simulated PMU that gives fewer counters than it shows, and
 * with one that miscounts beside others. */
#include "tracer/pmu/proof_together.h"

#include "tests/unit/splitmix.h"
#include "tests/unit/tracer/perf/perf_source_fake.h"

#include <criterion/criterion.h>
#include <string.h>

enum { N_KINDS = 5, TIMES = 1000 };

/* An event of each quantity, whose config is its index here plus one. */
static const enum event_quantity kinds[N_KINDS] = {EVENT_CYCLES, EVENT_LOADS, EVENT_STORES,
						   EVENT_FLOP_ANY, EVENT_INSTRUCTIONS};
/* In the order of need. */
static const int needs[N_KINDS] = {3, 4, 0, 1, 2};

static struct fake fake;
static struct event_row rows[N_KINDS];
static struct together_event events[N_KINDS];
static struct proof_loop loop;
static struct proof_loop *const loops[] = {&loop};
static struct proof_result results[N_KINDS];
static bool used[N_KINDS];
static unsigned bad_from; /* with so many events open, `bad_kind` counts `bad_factor` as much */
static int bad_kind;
static double bad_factor;

static void run_all(struct proof_loop *one)
{
	fake_pass(&fake, 0, 1000, 1);
	for (int i = 0; i < N_KINDS; i++) {
		const bool bad = i == bad_kind && bad_from && fake.n_open >= bad_from;
		fake_happen(&fake, 0, (uint64_t)i + 1, (uint64_t)(TIMES * (bad ? bad_factor : 1)));
	}
}

static void init(void)
{
	fake_init(&fake);
	bad_from = 0;
	proof_loop_init(&loop, "a loop");
	loop.run = run_all;
	for (int i = 0; i < N_KINDS; i++) {
		rows[i] = (struct event_row){.quantity = kinds[i],
					     .event = "an_event",
					     .multiplier = 2};
		events[i] = (struct together_event){.attr = {.type = PERF_TYPE_RAW,
							     .config = (uint64_t)i + 1},
						    .row = &rows[i],
						    .period = 1000003};
		loop.truth[kinds[i]] = 2 * TIMES;
		results[i] = (struct proof_result){.verdict = PROOF_GOOD};
		used[i] = true;
	}
}
TestSuite(proof_together, .init = init, .timeout = 60);

static void keep(unsigned general, bool hypervisor)
{
	const struct counter_limits limits = {general, 0};
	fake.general = general;
	proof_keep_together(&fake.source, events, N_KINDS, &limits, loops, 1, hypervisor, used,
			    results);
	cr_assert_eq(fake.n_open, 0);
	for (int i = 0; i < N_KINDS; i++) {
		cr_assert_eq(used[i], results[i].verdict == PROOF_GOOD, "%d: %s", i,
			     results[i].why);
		cr_assert_eq(used[i], results[i].why[0] == '\0', "%d: %s", i, results[i].why);
	}
}

static void check_kept(unsigned n)
{
	for (unsigned rank = 0; rank < N_KINDS; rank++)
		cr_assert_eq(used[needs[rank]], rank < n, "rank %u of %u", rank, n);
}

Test(proof_together, all_that_is_right_is_kept)
{
	keep(N_KINDS, true);
	check_kept(N_KINDS);
}

/* Cycles and instructions are in every group, so with four counters two events take turns: half of
 * the time each is an estimate that is right. */
Test(proof_together, turns_are_right)
{
	keep(4, true);
	check_kept(N_KINDS);
}

/* More counters are shown than there are: a group that is too large never counts. */
Test(proof_together, counters_that_are_only_shown)
{
	for (fake.usable = 1; fake.usable < N_KINDS; fake.usable++) {
		const unsigned usable = fake.usable;
		init();
		fake.usable = usable;
		keep(N_KINDS, false);
		check_kept(usable);
		cr_assert_not_null(strstr(results[needs[usable]].why, "no counter"), "%s",
				   results[needs[usable]].why);
	}
}

/* Beside so many others one of them is wrong, by any factor, up or down: those that come before in
 * need are kept, and the one with which it goes wrong is not. */
Test(proof_together, what_is_wrong_beside_others_is_found)
{
	uint64_t state = 11;
	for (int round = 0; round < 100; round++) {
		init();
		const unsigned rank = (unsigned)(random_number(&state) % N_KINDS);
		bad_from = 2 + (unsigned)(random_number(&state) % (N_KINDS - 1));
		bad_kind = needs[rank];
		bad_factor = random_number(&state) % 2
				     ? 1.05 + (double)(random_number(&state) % 100)
				     : (double)(random_number(&state) % 95) / 100;
		keep(N_KINDS, false);
		/* without it all others are right */
		for (unsigned other = 0; other < N_KINDS; other++) {
			const bool crowded =
				rank < bad_from - 1 ? other >= bad_from - 1 : other == rank;
			cr_assert_eq(used[needs[other]], !crowded,
				     "rank %u, wrong from %u by %f: %u", rank, bad_from, bad_factor,
				     other);
		}
	}
}

/* What the user names is kept and not compared. */
Test(proof_together, named_ones_stay)
{
	events[1].unproved = true;
	bad_from = 1;
	bad_kind = 1;
	bad_factor = 3;
	keep(N_KINDS, true);
	check_kept(N_KINDS);
	init();
	events[1].unproved = true;
	rows[3].flags = EVENT_PAIRED;
	keep(N_KINDS, true);
	for (int i = 0; i < N_KINDS; i++)
		cr_assert_eq(used[i], i == 1 || i == 3, "%d", i);
}

Test(proof_together, a_pair_is_alone_in_a_virtual_machine)
{
	rows[3].flags = EVENT_PAIRED;
	keep(N_KINDS, false);
	check_kept(N_KINDS);
	keep(N_KINDS, true);
	check_kept(1);
	cr_assert_not_null(strstr(results[0].why, "virtual machine"), "%s", results[0].why);
	init();
	rows[3].flags = EVENT_PAIRED;
	used[3] = false; /* not wanted: nothing is beside it */
	results[3] = (struct proof_result){.verdict = PROOF_BAD, .why = "wrong"};
	keep(N_KINDS, true);
	cr_assert(used[0] && used[1] && used[2] && used[4]);
}

Test(proof_together, what_the_kernel_refuses_together_is_left_out)
{
	const struct counter_limits limits = {N_KINDS, 0};
	fake.general = 2;
	proof_keep_together(&fake.source, events, N_KINDS, &limits, loops, 1, false, used, results);
	check_kept(2);
}
