/* From options and findings to the source of work and of traffic, with the reason in words. */
#include "tracer/pmu/choice.h"

#include <stdio.h>

const struct rf_word work_option_words[] = {
	{"auto", WORK_AUTO}, {"pmu", WORK_PMU}, {"count", WORK_COUNT},
	{"both", WORK_BOTH}, {NULL, 0},
};

const struct rf_word traffic_option_words[] = {
	{"auto", TRAFFIC_AUTO},
	{"pmu", TRAFFIC_PMU},
	{"trace", TRAFFIC_TRACE},
	{"none", TRAFFIC_NONE},
	{NULL, 0},
};

static const char *reason(const char *why, enum pmu_state state)
{
	if (why)
		return why;
	return state == PMU_PARTIAL ? "its events do not count all of it"
				    : "no event for it was proved here";
}

#define SAY(field, ...) snprintf(field, sizeof(field), __VA_ARGS__)

enum pmu_state choice_work_state(const bool usable[N_EVENT_QUANTITIES])
{
	const bool sp = usable[EVENT_FLOP_SP], dp = usable[EVENT_FLOP_DP];
	if (usable[EVENT_FLOP_ANY] || (sp && dp))
		return PMU_COMPLETE;
	return sp || dp || usable[EVENT_FLOP_HP] ? PMU_PARTIAL : PMU_NONE;
}

/* Misses of the last cache say whose they are, but not all that moves; the controllers say it the
 * other way around. */
enum pmu_state choice_memory_state(const bool usable[N_EVENT_QUANTITIES], bool controllers)
{
	const bool read = usable[EVENT_MEMORY_READ_BYTES],
		   written = usable[EVENT_MEMORY_WRITE_BYTES];
	if (controllers || (read && written))
		return PMU_COMPLETE;
	return usable[EVENT_LLC_MISS_BYTES] || read || written ? PMU_PARTIAL : PMU_NONE;
}

/* The counters count a native run; with --once there is none. */
static void choose_once(const struct choice_input *input, struct choice *choice)
{
	choice->time = TIME_FROM_COUNTED_RUN;
	choice->work = WORK_FROM_COUNTING;
	choice->counted_run = true;
	choice->refused = input->work == WORK_PMU || input->work == WORK_BOTH ||
			  input->traffic == TRAFFIC_PMU;
	SAY(choice->why_work,
	    "counted execution: --once has no native run that the PMU could count");
	SAY(choice->why_traffic, "none: --once measures no traffic, unless by --traffic=trace");
	if (input->traffic != TRAFFIC_TRACE)
		return;
	choice->traffic = TRAFFIC_FROM_TRACE;
	SAY(choice->why_traffic, "traced execution: --traffic=trace, in the one run of --once");
}

static void choose_traffic(const struct choice_input *input, struct choice *choice)
{
	const bool there = input->memory_events != PMU_NONE;
	const bool partial = input->memory_events == PMU_PARTIAL;
	const char *why = reason(input->why_no_memory, input->memory_events);
	switch (input->traffic) {
	case TRAFFIC_NONE:
		choice->traffic = TRAFFIC_FROM_NOTHING;
		SAY(choice->why_traffic, "none: --traffic=none");
		return;
	case TRAFFIC_TRACE:
		choice->traffic = TRAFFIC_FROM_TRACE;
		SAY(choice->why_traffic, "traced execution: --traffic=trace");
		return;
	case TRAFFIC_PMU:
		choice->refused |= !there;
		choice->traffic = there ? TRAFFIC_FROM_PMU : TRAFFIC_FROM_TRACE;
		if (!there)
			SAY(choice->why_traffic,
			    "traced execution: --traffic=pmu is not to be had: %s", why);
		else
			SAY(choice->why_traffic, "PMU: --traffic=pmu%s%s",
			    partial ? ", a lower bound: " : "", partial ? why : "");
		return;
	case TRAFFIC_AUTO:
		break;
	}
	choice->traffic = TRAFFIC_FROM_TRACE;
	SAY(choice->why_traffic,
	    "traced execution: it alone says what each function moves, at every level");
}

static void choose_work(const struct choice_input *input, struct choice *choice)
{
	const char *why = reason(input->why_no_work, input->work_events);
	const bool there = input->work_events != PMU_NONE;
	const bool partial = input->work_events == PMU_PARTIAL, both = input->work == WORK_BOTH;
	const char *asked = both ? "both" : "pmu";
	switch (input->work) {
	case WORK_COUNT:
		choice->work = WORK_FROM_COUNTING;
		SAY(choice->why_work, "counted execution: --work=count");
		return;
	case WORK_PMU:
	case WORK_BOTH:
		choice->refused |= !there;
		choice->work = !there ? WORK_FROM_COUNTING : both ? WORK_FROM_BOTH : WORK_FROM_PMU;
		if (!there)
			SAY(choice->why_work, "counted execution%s: --work=%s is not to be had: %s",
			    both ? " alone" : "", asked, why);
		else
			SAY(choice->why_work, "PMU%s: --work=%s%s%s",
			    both ? " and counted execution, each a check of the other" : "", asked,
			    partial ? "; " : "", partial ? why : "");
		return;
	case WORK_AUTO:
		break;
	}
	/* exact counts cost nothing when the code is translated for its traffic */
	const bool traced = choice->traffic == TRAFFIC_FROM_TRACE;
	choice->work =
		input->work_events == PMU_COMPLETE && !traced ? WORK_FROM_PMU : WORK_FROM_COUNTING;
	if (choice->work == WORK_FROM_PMU)
		SAY(choice->why_work, "PMU: its events for flop are proved and complete");
	else if (input->work_events == PMU_COMPLETE)
		SAY(choice->why_work,
		    "counted execution: the run that traces the traffic counts exactly");
	else
		SAY(choice->why_work, "counted execution: %s", why);
}

struct choice choose(const struct choice_input *input)
{
	struct choice choice = {.time = TIME_FROM_NATIVE_RUN};
	if (input->once) {
		choose_once(input, &choice);
		return choice;
	}
	choose_traffic(input, &choice);
	choose_work(input, &choice);
	choice.counted_run = choice.work != WORK_FROM_PMU || choice.traffic == TRAFFIC_FROM_TRACE;
	choice.counters = choice.work != WORK_FROM_COUNTING || choice.traffic == TRAFFIC_FROM_PMU;
	return choice;
}
