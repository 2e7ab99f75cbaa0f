/* The proof of counters: each reason against an event, through a simulated kernel whose loops do
 * what the test says; and the real loops, whose truth follows from their kernels. */
#include "tracer/pmu/proof.h"

#include "machine/kernels/compute_kernels.h"
#include "tests/unit/tracer/perf/perf_source_fake.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <math.h>
#include <string.h>

static struct fake fake;
static const struct event_row *row_of(enum event_quantity quantity, double multiplier,
				      unsigned flags, const char *erratum)
{
	static struct event_row rows[64];
	static size_t n;
	struct event_row *row = &rows[n++ % 64];
	*row = (struct event_row){.quantity = quantity,
				  .event = "an_event",
				  .multiplier = multiplier,
				  .flags = flags,
				  .erratum = erratum};
	return row;
}

/* Events of double precision as Intel has them: one for scalars, one for vectors of two, one for
 * four. */
enum { SCALAR = 1, PAIR = 2, QUAD = 3, CYCLES = 9 };

static struct proof_event event(uint64_t config, enum event_quantity quantity, double multiplier)
{
	return (struct proof_event){{.type = PERF_TYPE_RAW, .config = config},
				    row_of(quantity, multiplier, 0, NULL)};
}

/* A loop that makes the simulated kernel count, `factor` times as much as is true. */
struct doing {
	uint64_t config, n;
	double share; /* of the time that a counter is given */
};
static double factor;
static int disturbed; /* so many first runs count a third more */

static void run_fake(struct proof_loop *loop)
{
	const struct doing *doing = loop->kernel;
	const double more = disturbed-- > 0 ? 4.0 / 3 : 1;
	fake_pass(&fake, 0, 1000, doing->share);
	fake_happen(&fake, 0, doing->config, (uint64_t)((double)doing->n * factor * more));
}

static struct proof_loop scalar_loop, pair_loop, chain_loop;
static struct doing scalar_doing, pair_doing, chain_doing;
static struct proof_loop *loops[] = {&scalar_loop, &pair_loop, &chain_loop};
static const struct proof_place metal = {.facts = {.paranoid = 2}};
static struct proof_result results[8];

static void make_flop(struct proof_loop *loop, const char *name, double flop, struct doing *doing)
{
	proof_loop_init(loop, name);
	loop->fma = true;
	loop->truth[EVENT_FLOP_DP] = loop->truth[EVENT_FLOP_ANY] = flop;
	loop->truth[EVENT_FLOP_SP] = 0;
	loop->run = run_fake;
	loop->kernel = doing;
}

/* A million FMAs, of which such an event counts each as two. */
static void init(void)
{
	fake_init(&fake);
	factor = 1;
	disturbed = 0;
	scalar_doing = (struct doing){SCALAR, 2000000, 1};
	pair_doing = (struct doing){PAIR, 2000000, 1};
	chain_doing = (struct doing){CYCLES, 1000000, 1};
	make_flop(&scalar_loop, "scalar fma", 2e6, &scalar_doing);
	make_flop(&pair_loop, "fma of 128 bits", 4e6, &pair_doing);
	proof_loop_init(&chain_loop, "a chain of adds");
	chain_loop.truth[EVENT_CYCLES] = 1e6;
	chain_loop.run = run_fake;
	chain_loop.kernel = &chain_doing;
}
TestSuite(proof, .init = init);

static void prove_on(const struct proof_event *events, size_t n, const struct proof_place *place)
{
	cr_assert_null(proof_run(&fake.source, events, n, loops, 3, place, results));
	cr_assert_eq(fake.n_open, 0);
}

static void check(const struct proof_event *events, size_t n, size_t which,
		  enum proof_verdict verdict, const char *part)
{
	prove_on(events, n, &metal);
	cr_assert_eq(results[which].verdict, verdict, "%d: %s", results[which].verdict,
		     results[which].why);
	cr_assert_not_null(strstr(results[which].why, part), "%s", results[which].why);
}

static bool usable(const struct proof_event *events, size_t n, enum event_quantity quantity)
{
	const char *why;
	bool good = proof_quantity_usable(events, results, n, quantity, &why);
	cr_assert_eq(good, *why == '\0', "%s", why);
	return good;
}

Test(proof, good_events_are_good)
{
	const struct proof_event events[] = {event(SCALAR, EVENT_FLOP_DP, 1),
					     event(PAIR, EVENT_FLOP_DP, 2),
					     event(QUAD, EVENT_FLOP_DP, 4),
					     event(CYCLES, EVENT_CYCLES, 1)};
	prove_on(events, 4, &metal);
	cr_assert(results[0].verdict == PROOF_GOOD && results[1].verdict == PROOF_GOOD &&
		  results[3].verdict == PROOF_GOOD);
	cr_assert_str_eq(results[0].why, "");
	/* no loop has vectors of four: nothing speaks against it */
	cr_assert_eq(results[2].verdict, PROOF_NOT_EXERCISED);
	cr_assert_not_null(strstr(results[2].why, "no loop"));
	cr_assert(usable(events, 4, EVENT_FLOP_DP) && usable(events, 4, EVENT_CYCLES));
	cr_assert_not(usable(events, 4, EVENT_LOADS));
}

Test(proof, two_percent_and_no_more)
{
	const struct proof_event events[] = {event(SCALAR, EVENT_FLOP_DP, 1),
					     event(PAIR, EVENT_FLOP_DP, 2)};
	static const struct {
		double factor;
		bool good;
	} cases[] = {{1.019, true}, {0.981, true}, {1.021, false}, {0.979, false}};
	char part[64];
	for (size_t i = 0; i < 4; i++) {
		factor = cases[i].factor;
		prove_on(events, 2, &metal);
		cr_assert_eq(usable(events, 2, EVENT_FLOP_DP), cases[i].good, "%f", factor);
		cr_assert_eq(results[0].verdict, cases[i].good ? PROOF_GOOD : PROOF_BAD);
		snprintf(part, sizeof(part), ": %.3f times the truth", factor);
		cr_assert(cases[i].good || strstr(results[0].why, part), "%s", results[0].why);
	}
}

Test(proof, zeros)
{
	const struct proof_event events[] = {event(SCALAR, EVENT_FLOP_DP, 1),
					     event(PAIR, EVENT_FLOP_DP, 2)};
	const struct proof_place guest = {.facts = {.paranoid = 2, .hypervisor = true}};
	factor = 0;
	check(events, 2, 0, PROOF_BAD, "does not do what its table says");
	prove_on(events, 2, &guest);
	cr_assert(results[0].verdict == PROOF_BAD && results[1].verdict == PROOF_BAD);
	cr_assert_not_null(strstr(results[0].why, "returns zeros"));
	cr_assert_not(usable(events, 2, EVENT_FLOP_DP));
}

/* The one that is silent is to blame, not its neighbour that counts what it should. */
Test(proof, one_of_a_sum_is_silent)
{
	const struct proof_event events[] = {event(SCALAR, EVENT_FLOP_DP, 1),
					     event(77, EVENT_FLOP_DP, 2)};
	check(events, 2, 1, PROOF_BAD, "fma of 128 bits");
	cr_assert_eq(results[0].verdict, PROOF_GOOD);
	cr_assert_not(usable(events, 2, EVENT_FLOP_DP));
}

Test(proof, double_and_half)
{
	const struct proof_event flop[] = {event(SCALAR, EVENT_FLOP_DP, 1),
					   event(PAIR, EVENT_FLOP_DP, 2)};
	const struct proof_event cycles[] = {event(CYCLES, EVENT_CYCLES, 1)};
	const struct proof_place shared = {.facts = {.paranoid = 2}, .smt = true};
	factor = 2;
	check(flop, 2, 0, PROOF_BAD, "fused multiply-add counts twice");
	check(cycles, 1, 0, PROOF_BAD, "erratum");
	prove_on(cycles, 1, &shared);
	cr_assert_not_null(strstr(results[0].why, "hardware thread"));
	factor = 0.5;
	check(flop, 2, 1, PROOF_BAD, "fused multiply-add counts once");
	factor = 1.5;
	check(flop, 2, 1, PROOF_BAD, "1.500 times the truth in fma of 128 bits");
}

Test(proof, erratum_is_told)
{
	const struct proof_event events[] = {{{.type = PERF_TYPE_RAW, .config = CYCLES},
					      row_of(EVENT_CYCLES, 1, 0, "counts while halted")}};
	factor = 1.2;
	check(events, 1, 0, PROOF_BAD, "known: counts while halted");
}

/* An event of single precision that counts doubles. */
Test(proof, counts_where_it_should_not)
{
	const struct proof_event events[] = {event(SCALAR, EVENT_FLOP_SP, 1)};
	check(events, 1, 0, PROOF_BAD, "where it should not");
	cr_assert_not(usable(events, 1, EVENT_FLOP_SP));
}

Test(proof, no_counter_for_it)
{
	const struct proof_event events[] = {event(CYCLES, EVENT_CYCLES, 1)};
	const struct proof_place watched = {.facts = {.paranoid = 2, .nmi_watchdog = 1}};
	chain_doing.share = 0;
	check(events, 1, 0, PROOF_BAD, "another profiler");
	prove_on(events, 1, &watched);
	cr_assert_not_null(strstr(results[0].why, "NMI watchdog"));
	chain_doing.share = 0.5;
	check(events, 1, 0, PROOF_BAD, "50.0 %");
}

Test(proof, refusals_are_told)
{
	const struct proof_event events[] = {event(CYCLES, EVENT_CYCLES, 1)};
	static const struct {
		enum fake_call call;
		int errnum;
		const char *part;
	} cases[] = {
		{FAKE_OPEN, ENOENT, "PMU"},
		{FAKE_OPEN, EBUSY, "taken"},
		{FAKE_OPEN, EACCES, "security module"},
		{FAKE_CONTROL, EIO, "cannot open"},
		{FAKE_READ, EIO, "cannot open"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		init();
		fake_fail(&fake, cases[i].call, cases[i].errnum, 0, UINT64_MAX);
		check(events, 1, 0, PROOF_BAD, cases[i].part);
		cr_assert_not(usable(events, 1, EVENT_CYCLES));
	}
}

Test(proof, one_disturbance_does_not_condemn)
{
	const struct proof_event events[] = {event(CYCLES, EVENT_CYCLES, 1)};
	disturbed = PROOF_ATTEMPTS - 1;
	prove_on(events, 1, &metal);
	cr_assert_eq(results[0].verdict, PROOF_GOOD);
	disturbed = PROOF_ATTEMPTS;
	prove_on(events, 1, &metal);
	cr_assert_eq(results[0].verdict, PROOF_BAD);
}

Test(proof, whole_package_is_left_to_others)
{
	const struct proof_event events[] = {
		{{.type = 20, .config = CYCLES}, row_of(EVENT_CYCLES, 1, EVENT_UNCORE, NULL)}};
	check(events, 1, 0, PROOF_NOT_EXERCISED, "whole package");
	cr_assert_not(usable(events, 1, EVENT_CYCLES));
}

/* --- the loops themselves --- */

/* Each does the flop that it says: what compute_kernel_run has noted, against its truth. */
Test(proof_loops, truths_follow_from_the_kernels, .timeout = 100)
{
	struct proof_loops real;
	bool single = false, exact = true;
	proof_loops_init(&real);
	cr_assert_geq(real.n, 3 + 4); /* scalar and 128 bits of both precisions are everywhere */
	for (size_t i = 0; i < real.n; i++) {
		struct proof_loop *loop = real.loops[i];
		if (loop->prepare)
			loop->prepare(loop);
		loop->run(loop);
		if (isnan(loop->truth[EVENT_FLOP_ANY]))
			continue;
		const struct compute_kernel *kernel = loop->kernel;
		const struct compute_state *state = loop->memory;
		const double fp = loop->truth[EVENT_FP_INSTRUCTIONS];
		exact &= loop->truth[EVENT_FLOP_ANY] ==
			 (double)state->iterations * kernel->ops_per_iteration;
		cr_assert(compute_state_valid(kernel, state), "%s", loop->name);
		cr_assert(fp >= PROOF_COUNT && fp < PROOF_COUNT * 1.001, "%s: %f", loop->name, fp);
		cr_assert_eq(loop->truth[EVENT_FLOP_ANY], fp * kernel->lanes * (loop->fma ? 2 : 1),
			     "%s", loop->name);
		cr_assert_eq(loop->truth[EVENT_FLOP_SP] + loop->truth[EVENT_FLOP_DP] +
				     loop->truth[EVENT_FLOP_HP],
			     loop->truth[EVENT_FLOP_ANY]);
		single |= loop->truth[EVENT_FLOP_SP] > 0;
	}
	cr_assert(single && exact);
	proof_loops_deinit(&real);
}
