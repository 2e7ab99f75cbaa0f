#include "tracer/pmu/choice.h"

#include <criterion/criterion.h>
#include <string.h>

/* What is to be chosen, one row for each kind of wish and finding; '*' is any. */
static const struct row {
	const char *work, *traffic, *work_events, *memory_events; /* as the names below */
	const char *wanted_work, *wanted_traffic; /* pmu, count, both; pmu, trace, none */
	bool refused;
	const char *why_work, *why_traffic; /* parts */
} rows[] = {
	/* nothing asked for: the counted run has it all */
	{"auto", "auto", "complete", "*", "count", "trace", false,
	 "traces the traffic counts exactly", "it alone says"},
	{"auto", "auto", "partial", "*", "count", "trace", false, "W", "it alone says"},
	{"auto", "auto", "none", "*", "count", "trace", false, "W", "it alone says"},
	{"auto", "pmu", "complete", "complete", "pmu", "pmu", false, "complete", "--traffic=pmu"},
	{"auto", "pmu", "complete", "partial", "pmu", "pmu", false, "complete", "a lower bound: M"},
	{"auto", "pmu", "*", "none", "count", "trace", true, "counted",
	 "--traffic=pmu is not to be had: M"},
	{"auto", "pmu", "partial", "complete", "count", "pmu", false, "W", "--traffic=pmu"},
	{"auto", "pmu", "partial", "partial", "count", "pmu", false, "W", "a lower bound: M"},
	{"auto", "pmu", "none", "complete", "count", "pmu", false, "W", "--traffic=pmu"},
	{"auto", "pmu", "none", "partial", "count", "pmu", false, "W", "a lower bound: M"},
	{"auto", "trace", "*", "*", "count", "trace", false, "counted", "--traffic=trace"},
	{"auto", "none", "complete", "*", "pmu", "none", false, "complete", "--traffic=none"},
	{"auto", "none", "partial", "*", "count", "none", false, "W", "--traffic=none"},
	{"auto", "none", "none", "*", "count", "none", false, "W", "--traffic=none"},
	{"pmu", "auto", "complete", "*", "pmu", "trace", false, "--work=pmu", "it alone says"},
	{"pmu", "auto", "partial", "*", "pmu", "trace", false, "--work=pmu; W", "traced"},
	{"pmu", "auto", "none", "*", "count", "trace", true, "--work=pmu is not to be had: W",
	 "traced"},
	{"pmu", "pmu", "complete", "complete", "pmu", "pmu", false, "--work=pmu", "--traffic=pmu"},
	{"pmu", "pmu", "complete", "partial", "pmu", "pmu", false, "--work=pmu", "lower bound"},
	{"pmu", "pmu", "complete", "none", "pmu", "trace", true, "--work=pmu", "not to be had"},
	{"pmu", "pmu", "partial", "complete", "pmu", "pmu", false, "; W", "--traffic=pmu"},
	{"pmu", "pmu", "partial", "partial", "pmu", "pmu", false, "; W", "lower bound"},
	{"pmu", "pmu", "partial", "none", "pmu", "trace", true, "; W", "not to be had"},
	{"pmu", "pmu", "none", "complete", "count", "pmu", true, "not to be had", "--traffic=pmu"},
	{"pmu", "pmu", "none", "partial", "count", "pmu", true, "not to be had", "lower bound"},
	{"pmu", "pmu", "none", "none", "count", "trace", true, "not to be had", "not to be had"},
	{"pmu", "trace", "complete", "*", "pmu", "trace", false, "--work=pmu", "--traffic=trace"},
	{"pmu", "trace", "partial", "*", "pmu", "trace", false, "; W", "--traffic=trace"},
	{"pmu", "trace", "none", "*", "count", "trace", true, "not to be had", "--traffic=trace"},
	{"pmu", "none", "complete", "*", "pmu", "none", false, "--work=pmu", "none"},
	{"pmu", "none", "partial", "*", "pmu", "none", false, "; W", "none"},
	{"pmu", "none", "none", "*", "count", "none", true, "not to be had", "none"},
	{"count", "auto", "*", "*", "count", "trace", false, "--work=count", "traced"},
	{"count", "pmu", "*", "complete", "count", "pmu", false, "--work=count", "--traffic=pmu"},
	{"count", "pmu", "*", "partial", "count", "pmu", false, "--work=count", "lower bound"},
	{"count", "pmu", "*", "none", "count", "trace", true, "--work=count", "not to be had"},
	{"count", "trace", "*", "*", "count", "trace", false, "--work=count", "--traffic=trace"},
	{"count", "none", "*", "*", "count", "none", false, "--work=count", "none"},
	{"both", "auto", "complete", "*", "both", "trace", false, "each a check of the other",
	 "traced"},
	{"both", "auto", "partial", "*", "both", "trace", false, "; W", "traced"},
	{"both", "auto", "none", "*", "count", "trace", true, "--work=both is not to be had: W",
	 "traced"},
	{"both", "pmu", "complete", "complete", "both", "pmu", false, "each a check",
	 "--traffic=pmu"},
	{"both", "pmu", "complete", "partial", "both", "pmu", false, "each a check", "lower bound"},
	{"both", "pmu", "complete", "none", "both", "trace", true, "each a check", "not to be had"},
	{"both", "pmu", "partial", "complete", "both", "pmu", false, "; W", "--traffic=pmu"},
	{"both", "pmu", "partial", "partial", "both", "pmu", false, "; W", "lower bound"},
	{"both", "pmu", "partial", "none", "both", "trace", true, "; W", "not to be had"},
	{"both", "pmu", "none", "complete", "count", "pmu", true, "not to be had", "--traffic=pmu"},
	{"both", "pmu", "none", "partial", "count", "pmu", true, "not to be had", "lower bound"},
	{"both", "pmu", "none", "none", "count", "trace", true, "not to be had", "not to be had"},
	{"both", "trace", "complete", "*", "both", "trace", false, "each a check",
	 "--traffic=trace"},
	{"both", "trace", "partial", "*", "both", "trace", false, "; W", "--traffic=trace"},
	{"both", "trace", "none", "*", "count", "trace", true, "not to be had", "--traffic=trace"},
	{"both", "none", "complete", "*", "both", "none", false, "each a check", "none"},
	{"both", "none", "partial", "*", "both", "none", false, "; W", "none"},
	{"both", "none", "none", "*", "count", "none", true, "not to be had", "none"},
};
enum { N_ROWS = sizeof(rows) / sizeof(*rows) };

static const char *const work_options[] = {"auto", "pmu", "count", "both"};
static const char *const traffic_options[] = {"auto", "pmu", "trace", "none"};
static const char *const states[] = {"none", "partial", "complete"};
static const char *const work_sources[] = {"pmu", "count", "both"};
static const char *const traffic_sources[] = {"none", "pmu", "trace"};

static bool matches(const char *wanted, const char *name)
{
	return strcmp(wanted, "*") == 0 || strcmp(wanted, name) == 0;
}

static const struct row *find_row(const struct choice_input *input)
{
	const struct row *found = NULL;
	for (size_t i = 0; i < N_ROWS; i++) {
		if (!matches(rows[i].work, work_options[input->work]) ||
		    !matches(rows[i].traffic, traffic_options[input->traffic]) ||
		    !matches(rows[i].work_events, states[input->work_events]) ||
		    !matches(rows[i].memory_events, states[input->memory_events]))
			continue;
		cr_assert_null(found, "two rows for one input: %td", found - rows);
		found = &rows[i];
	}
	cr_assert_not_null(found, "no row for %s %s %s %s", work_options[input->work],
			   traffic_options[input->traffic], states[input->work_events],
			   states[input->memory_events]);
	return found;
}

static void check(const struct choice_input *input)
{
	const struct row *row = find_row(input);
	const struct choice choice = choose(input);
	const long line = row - rows;
	cr_assert_str_eq(work_sources[choice.work], row->wanted_work, "row %ld", line);
	cr_assert_str_eq(traffic_sources[choice.traffic], row->wanted_traffic, "row %ld", line);
	cr_assert_eq(choice.refused, row->refused, "row %ld", line);
	cr_assert_not_null(strstr(choice.why_work, row->why_work), "row %ld: %s", line,
			   choice.why_work);
	cr_assert_not_null(strstr(choice.why_traffic, row->why_traffic), "row %ld: %s", line,
			   choice.why_traffic);
	cr_assert_eq(choice.time, TIME_FROM_NATIVE_RUN);
	/* a run for what each source needs, and no run for nothing */
	const bool counting = strcmp(row->wanted_work, "pmu") != 0,
		   tracing = strcmp(row->wanted_traffic, "trace") == 0;
	cr_assert_eq(choice.counted_run, counting || tracing, "row %ld", line);
	cr_assert_eq(choice.counters,
		     strcmp(row->wanted_work, "count") != 0 ||
			     strcmp(row->wanted_traffic, "pmu") == 0,
		     "row %ld", line);
}

Test(choice, every_combination)
{
	size_t n = 0;
	for (int work = 0; work < 4; work++)
		for (int traffic = 0; traffic < 4; traffic++)
			for (int events = 0; events < 3; events++)
				for (int memory = 0; memory < 3; memory++, n++) {
					const struct choice_input input = {
						.work = work,
						.traffic = traffic,
						.work_events = events,
						.memory_events = memory,
						.why_no_work = "W",
						.why_no_memory = "M",
					};
					check(&input);
				}
	cr_assert_eq(n, 144);
}

Test(choice, without_a_reason_there_are_words)
{
	const struct choice_input nothing = {.work = WORK_AUTO},
				  partial = {.work_events = PMU_PARTIAL};
	cr_assert_not_null(strstr(choose(&nothing).why_work, "no event"));
	cr_assert_not_null(strstr(choose(&partial).why_work, "do not count all"));
}

/* --once is one counted run, whatever else was asked for; traced only when it is asked for. */
Test(choice, once)
{
	for (int work = 0; work < 4; work++)
		for (int traffic = 0; traffic < 4; traffic++) {
			const struct choice_input input = {.work = work,
							   .traffic = traffic,
							   .once = true,
							   .work_events = PMU_COMPLETE,
							   .memory_events = PMU_COMPLETE};
			const struct choice choice = choose(&input);
			cr_assert(choice.time == TIME_FROM_COUNTED_RUN &&
				  choice.work == WORK_FROM_COUNTING && choice.counted_run &&
				  !choice.counters);
			cr_assert_eq(choice.traffic, traffic == TRAFFIC_TRACE
							     ? TRAFFIC_FROM_TRACE
							     : TRAFFIC_FROM_NOTHING);
			cr_assert_eq(choice.refused, work == WORK_PMU || work == WORK_BOTH ||
							     traffic == TRAFFIC_PMU);
			cr_assert_not_null(strstr(choice.why_work, "--once"));
		}
}

Test(choice, flop_are_complete_when_every_precision_that_matters_is)
{
	static const struct {
		enum event_quantity of[2];
		enum pmu_state state;
	} cases[] = {
		{{EVENT_FLOP_ANY, EVENT_FLOP_ANY}, PMU_COMPLETE},
		{{EVENT_FLOP_SP, EVENT_FLOP_DP}, PMU_COMPLETE},
		{{EVENT_FLOP_SP, EVENT_FLOP_HP}, PMU_PARTIAL},
		{{EVENT_FLOP_DP, EVENT_LOADS}, PMU_PARTIAL},
		{{EVENT_FLOP_HP, EVENT_FLOP_HP}, PMU_PARTIAL},
		{{EVENT_LOADS, EVENT_FP_INSTRUCTIONS}, PMU_NONE},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		bool usable[N_EVENT_QUANTITIES] = {false};
		usable[cases[i].of[0]] = usable[cases[i].of[1]] = true;
		cr_assert_eq(choice_work_state(usable), cases[i].state, "row %zu", i);
	}
}

Test(choice, memory_is_complete_by_controllers_or_by_reads_and_writes)
{
	static const struct {
		enum event_quantity of[2];
		enum pmu_state state;
	} cases[] = {
		{{EVENT_MEMORY_READ_BYTES, EVENT_MEMORY_WRITE_BYTES}, PMU_COMPLETE},
		{{EVENT_MEMORY_READ_BYTES, EVENT_LOADS}, PMU_PARTIAL},
		{{EVENT_MEMORY_WRITE_BYTES, EVENT_LOADS}, PMU_PARTIAL},
		{{EVENT_LLC_MISS_BYTES, EVENT_LOADS}, PMU_PARTIAL},
		{{EVENT_L2_BYTES, EVENT_LOADS}, PMU_NONE},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		bool usable[N_EVENT_QUANTITIES] = {false};
		usable[cases[i].of[0]] = usable[cases[i].of[1]] = true;
		cr_assert_eq(choice_memory_state(usable, false), cases[i].state, "row %zu", i);
		cr_assert_eq(choice_memory_state(usable, true), PMU_COMPLETE, "row %zu", i);
	}
}
