/* Which counters a run uses: the words of --counter, and the choice with a simulated PMU that does
 * not count. */
#include "tracer/pmu/pmu_plan.h"

#include "tests/unit/tracer/perf/perf_source_fake.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static void check_parsed(const char *word, enum event_quantity quantity, const char *event,
			 double multiplier, uint64_t period)
{
	char *text = strdup(word);
	struct pmu_event parsed;
	struct rf_error *error = pmu_event_parse(text, &parsed);
	cr_assert_null(error, "%s: %s", word, error ? error->message : "");
	cr_assert_eq(parsed.row.quantity, quantity);
	cr_assert_str_eq(parsed.row.event, event);
	cr_assert_eq(parsed.row.multiplier, multiplier);
	cr_assert_eq(parsed.period, period);
	cr_assert(parsed.named && parsed.attr.type == PERF_TYPE_SOFTWARE);
	free(text);
}

Test(pmu_plan, words_of_counter)
{
	check_parsed("flop_dp=perf::PAGE-FAULTS", EVENT_FLOP_DP, "perf::PAGE-FAULTS", 1, 101);
	check_parsed("loads=perf::PAGE-FAULTS*64", EVENT_LOADS, "perf::PAGE-FAULTS", 64, 101);
	check_parsed("cycles=perf::PAGE-FAULTS*0.5@7", EVENT_CYCLES, "perf::PAGE-FAULTS", 0.5, 7);
	check_parsed("cycles=perf::PAGE-FAULTS@12345", EVENT_CYCLES, "perf::PAGE-FAULTS", 1, 12345);
}

Test(pmu_plan, words_that_are_none)
{
	static const char *const words[] = {"",
					    "=",
					    "flop_dp",
					    "flop_dp=",
					    "speed=perf::PAGE-FAULTS",
					    "flop_dp=no::SUCH",
					    "flop_dp=perf::PAGE-FAULTS*",
					    "flop_dp=perf::PAGE-FAULTS*0",
					    "flop_dp=perf::PAGE-FAULTS*-2",
					    "flop_dp=perf::PAGE-FAULTS*inf",
					    "flop_dp=perf::PAGE-FAULTS*nan",
					    "flop_dp=perf::PAGE-FAULTS*2x",
					    "flop_dp=perf::PAGE-FAULTS@",
					    "flop_dp=perf::PAGE-FAULTS@0",
					    "flop_dp=perf::PAGE-FAULTS@-1",
					    "flop_dp=perf::PAGE-FAULTS@1.5",
					    "flop_dp=perf::PAGE-FAULTS@7*2"};
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		char *text = strdup(words[i]);
		struct pmu_event parsed;
		struct rf_error *error = pmu_event_parse(text, &parsed);
		cr_assert_not_null(error, "%s", words[i]);
		cr_assert_eq(error->code, RF_EINPUT);
		rf_error_destroy(error);
		free(text);
	}
}

static struct fake fake;
static struct pmu_plan plan;

static void make_plan(struct pmu_options options)
{
	struct rf_error *error = pmu_plan_init(&fake.source, &options, &plan);
	cr_assert_null(error, "%s", error ? error->message : "");
	cr_assert_eq(fake.n_open, 0);
}

static void init(void)
{
	fake_init(&fake);
	fake.hardware = true;
	fake.runs = true;
}
TestSuite(pmu_plan_of, .init = init);

/* The loops of the proof run for real, and the simulated counters stay at zero: a virtual machine
 * that pretends. */
Test(pmu_plan_of, counters_at_zero_are_not_used)
{
	make_plan((struct pmu_options){.work = WORK_PMU, .traffic = TRAFFIC_NONE});
	cr_assert(plan.choice.refused && plan.choice.work == WORK_FROM_COUNTING &&
		  !plan.choice.counters);
	cr_assert(plan.choice.counted_run);
	for (size_t i = 0; i < plan.n_events; i++)
		cr_assert_not(plan.events[i].used, "%s", plan.events[i].row.event);
	pmu_plan_deinit(&plan);
}

/* Where the traffic is traced, the same run counts: no run waits for a proof that changes nothing.
 */
Test(pmu_plan_of, nothing_is_proved_for_nothing)
{
	make_plan((struct pmu_options){0});
	cr_assert_eq(plan.n_events, 0);
	cr_assert(plan.choice.work == WORK_FROM_COUNTING &&
		  plan.choice.traffic == TRAFFIC_FROM_TRACE);
	cr_assert_eq(plan.why[0], '\0');
	pmu_plan_deinit(&plan);
}

Test(pmu_plan_of, no_pmu_has_a_reason)
{
	fake.hardware = false;
	make_plan((struct pmu_options){0});
	cr_assert_neq(plan.why[0], '\0');
	cr_assert(plan.choice.work == WORK_FROM_COUNTING &&
		  plan.choice.traffic == TRAFFIC_FROM_TRACE);
	cr_assert_not(plan.choice.counters || plan.choice.refused);
	pmu_plan_deinit(&plan);
}

Test(pmu_plan_of, counting_asks_no_counter)
{
	fake_fail(&fake, FAKE_OPEN, 1, 0, UINT64_MAX); /* would be told */
	make_plan((struct pmu_options){.work = WORK_COUNT});
	cr_assert_eq(plan.why[0], '\0');
	cr_assert_eq(plan.n_events, 0);
	pmu_plan_deinit(&plan);
}

/* --work=count asks the PMU for nothing but what --traffic=pmu needs. */
Test(pmu_plan_of, counted_work_leaves_the_events_of_memory)
{
	make_plan((struct pmu_options){.work = WORK_COUNT, .traffic = TRAFFIC_PMU});
	for (size_t i = 0; i < plan.n_events; i++)
		cr_assert_eq(plan.events[i].row.quantity, EVENT_LLC_MISS_BYTES, "%s",
			     plan.events[i].row.event);
	cr_assert(plan.n_events > 0 || plan.why[0]); /* no table for this processor: it is said */
	pmu_plan_deinit(&plan);
}

Test(pmu_plan_of, named_bytes_of_memory_are_traffic)
{
	static const char *const both[] = {"memory_read_bytes=perf::PAGE-FAULTS*64@7",
					   "memory_write_bytes=perf::PAGE-FAULTS*64@7", NULL};
	static const char *const misses[] = {"llc_miss_bytes=perf::PAGE-FAULTS*64@7", NULL};
	fake.hardware = false;
	make_plan((struct pmu_options){.named = both, .work = WORK_COUNT, .traffic = TRAFFIC_PMU});
	cr_assert(plan.choice.traffic == TRAFFIC_FROM_PMU && plan.choice.counters &&
		  !plan.choice.refused);
	cr_assert_not(plan.memory, "counted twice");
	cr_assert_null(strstr(plan.choice.why_traffic, "lower bound"), "%s",
		       plan.choice.why_traffic);
	pmu_plan_deinit(&plan);
	make_plan((
		struct pmu_options){.named = both + 1, .work = WORK_COUNT, .traffic = TRAFFIC_PMU});
	cr_assert_not_null(strstr(plan.choice.why_traffic, "lower bound"), "%s",
			   plan.choice.why_traffic);
	pmu_plan_deinit(&plan);
	make_plan(
		(struct pmu_options){.named = misses, .work = WORK_COUNT, .traffic = TRAFFIC_PMU});
	cr_assert(plan.choice.traffic == TRAFFIC_FROM_PMU && !plan.choice.refused);
	pmu_plan_deinit(&plan);
}

/* A named event takes the place of the table's for its quantity, and is counted whatever the work
 * comes from. */
Test(pmu_plan_of, named_events_are_taken_as_they_are)
{
	static const char *const named[] = {"flop_dp=perf::PAGE-FAULTS*2@7", NULL};
	fake.hardware = false;
	make_plan((struct pmu_options){.named = named});
	cr_assert_eq(plan.n_events, 1);
	cr_assert(plan.events[0].used && plan.choice.counters &&
		  plan.choice.work == WORK_FROM_COUNTING);
	pmu_plan_deinit(&plan);
	make_plan((struct pmu_options){.named = named, .work = WORK_PMU, .traffic = TRAFFIC_NONE});
	cr_assert(plan.choice.work == WORK_FROM_PMU && !plan.choice.counted_run &&
		  !plan.choice.refused);
	pmu_plan_refuse(&plan);
	cr_assert(plan.choice.work == WORK_FROM_COUNTING && plan.choice.counted_run &&
		  !plan.choice.counters);
	pmu_plan_deinit(&plan);
}
