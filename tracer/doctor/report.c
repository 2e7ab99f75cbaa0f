/* The table of all checks, and what they add up to: the sentence that says what a run will do
 * here. */
#include "tracer/doctor/report.h"

#include "tracer/doctor/checks.h"
#include "tracer/pmu/choice.h"

#include <assert.h>
#include <string.h>

static const struct check {
	const char *name;
	enum doctor_probe probe;
	enum doctor_need need; /* where it is missing, unless the check says otherwise */
	check_fn *look;
} checks[] = {
	{"kernel", PROBE_SYSTEM, NEED_NOTHING, check_kernel},
	{"/proc", PROBE_SYSTEM, NEED_COUNTS, check_proc},
	{"/sys", PROBE_SYSTEM, NEED_NOTHING, check_sys},
	{"hypervisor", PROBE_SYSTEM, NEED_NOTHING, check_hypervisor},
	{"container", PROBE_SYSTEM, NEED_NOTHING, check_container},
	{"seccomp", PROBE_SYSTEM, NEED_COUNTS, check_seccomp},
	{"perf_event_paranoid", PROBE_SYSTEM, NEED_NOTHING, check_paranoid},
	{"kernel samples", PROBE_SYSTEM, NEED_NOTHING, check_kernel_time},
	{"perf sampler", PROBE_PERF, NEED_NOTHING, check_perf},
	{"running processes", PROBE_PERF, NEED_NOTHING, check_attach},
	{"timer sampler", PROBE_TIMER, NEED_NOTHING, check_timer},
	{"locked memory", PROBE_PERF, NEED_NOTHING, check_locked},
	{"descriptors", PROBE_SYSTEM, NEED_TIMES, check_descriptors},
	{"ptrace scope", PROBE_SYSTEM, NEED_NOTHING, check_scope},
	{"ptrace", PROBE_TRACING, NEED_COUNTS, check_ptrace},
	{"executable memory", PROBE_MEMORY, NEED_COUNTS, check_memory},
	{"address space", PROBE_SYSTEM, NEED_COUNTS, check_address_space},
	{"FSGSBASE", PROBE_CPU, NEED_NOTHING, check_fsgsbase},
	{"BMI2", PROBE_CPU, NEED_TRAFFIC, check_bmi2},
	{"caches", PROBE_CACHES, NEED_NOTHING, check_caches},
	{"roofs", PROBE_ROOFS, NEED_NOTHING, check_roofs},
	{"debuginfod", PROBE_SYSTEM, NEED_NOTHING, check_debuginfod},
	{"PMU", PROBE_PMU, NEED_NOTHING, check_pmu},
	{"PMU events", PROBE_PMU, NEED_NOTHING, check_events},
	{"uncore", PROBE_UNCORE, NEED_NOTHING, check_uncore},
	{"resctrl", PROBE_RESCTRL, NEED_NOTHING, check_resctrl},
};
_Static_assert(sizeof(checks) / sizeof(*checks) <= DOCTOR_MAX_LINES,
	       "a report has room for all checks");

/* A probe that has not come to its end says that much. */
static bool ended_early(const struct guard_ending *ending, struct doctor_line *line)
{
	if (ending->how == GUARD_DONE)
		return false;
	if (ending->how == GUARD_LATE) {
		SAY(line->found, "no answer in time");
		doctor_lacks(line, DOCTOR_MISSING,
			     "it is taken for missing here; a run may hang as well",
			     "try again on an idle machine; see the kernel's log");
		return true;
	}
	const char *name = ending->signal ? sigdescr_np(ending->signal) : NULL;
	SAY(line->found, "whoever asks is ended: %s", name ? name : "for no reason that is told");
	doctor_lacks(line, DOCTOR_MISSING,
		     "it is taken for missing here; a run would be ended, too",
		     "start rfprof outside of the sandbox that filters system calls");
	return true;
}

static void look(const struct check *check, const struct doctor_facts *facts,
		 struct doctor_line *line)
{
	*line = (struct doctor_line){.name = check->name, .need = check->need};
	if (!ended_early(&facts->endings[check->probe], line))
		check->look(facts, line);
	else if (check->probe == PROBE_PERF || check->probe == PROBE_TIMER)
		line->need = NEED_TIMES; /* a run asks, too, and is ended */
}

/* ---- what a run will do ---- */

static bool has(const struct doctor_report *report, enum doctor_need need)
{
	for (size_t i = 0; i < report->n; i++)
		if (report->lines[i].state == DOCTOR_MISSING && report->lines[i].need == need)
			return false;
	return true;
}

static bool has_controllers(const struct doctor_facts *facts)
{
	const bool uncore = facts->endings[PROBE_UNCORE].how == GUARD_DONE &&
			    !facts->uncore.there && facts->uncore_complete;
	return uncore || (facts->endings[PROBE_RESCTRL].how == GUARD_DONE &&
			  !facts->resctrl.there && facts->resctrl_writable);
}

static const char *why_no_work(const struct doctor_facts *facts,
			       const struct doctor_refusal *refusal)
{
	if (facts->endings[PROBE_PMU].how != GUARD_DONE)
		return "the PMU gives no answer";
	return refusal->there ? refusal->message : NULL;
}

static void say_sentence(const struct doctor_facts *facts, struct doctor_report *report)
{
	const struct doctor_refusal refusal = doctor_explained_pmu(facts);
	bool usable[N_EVENT_QUANTITIES];
	for (int i = 0; i < N_EVENT_QUANTITIES; i++)
		usable[i] = facts->pmu.quantities[i].usable;
	const struct choice_input input = {
		.work_events = choice_work_state(usable),
		.memory_events = choice_memory_state(usable, has_controllers(facts)),
		.why_no_work = why_no_work(facts, &refusal),
		.why_no_memory = "no counter of memory traffic can be used"};
	const struct choice choice = choose(&input);
	const bool counts = has(report, NEED_COUNTS);
	const bool traced = counts && has(report, NEED_TRAFFIC);
	const char *times = !has(report, NEED_TIMES)   ? "none"
			    : doctor_perf_works(facts) ? "perf cpu-clock"
						       : "timers in a preloaded library";
	SAY(report->sentence, "rfprof ./app here: times by %s; counts by %s; traffic %s", times,
	    choice.work == WORK_FROM_PMU ? "the PMU"
	    : counts                     ? "translation"
					 : "nothing",
	    choice.traffic == TRAFFIC_FROM_PMU ? "by the PMU"
	    : traced                           ? "traced"
					       : "by nothing");
	if (choice.work != WORK_FROM_PMU) {
		doctor_add_words(report->sentence, sizeof(report->sentence), "; ",
				 "the PMU is not used: ");
		const char *why =
			input.work_events == PMU_COMPLETE ? choice.why_work : input.why_no_work;
		doctor_add_words(report->sentence, sizeof(report->sentence), "",
				 why ? why : "no events for flop are proved");
	}
	if (!report->possible)
		doctor_add_words(report->sentence, sizeof(report->sentence),
				 "; missing for a full profile: ", report->missing);
}

void doctor_report_make(const struct doctor_facts *facts, struct doctor_report *report)
{
	*report = (struct doctor_report){.n = sizeof(checks) / sizeof(*checks)};
	for (size_t i = 0; i < report->n; i++) {
		assert(checks[i].probe < N_DOCTOR_PROBES);
		look(&checks[i], facts, &report->lines[i]);
		if (report->lines[i].state == DOCTOR_MISSING &&
		    report->lines[i].need != NEED_NOTHING)
			doctor_add_words(report->missing, sizeof(report->missing), ", ",
					 report->lines[i].name);
	}
	report->possible = !report->missing[0];
	say_sentence(facts, report);
}
