/* Which times of a run that was timed and counted at once are true. */
#include "report/reasons/notes_once.h"

#include "report/reasons/notes_traffic.h"

#include <math.h>

enum { MOST_NAMES = 3 };

/* How much a call or return that is counted takes longer than without, ns: about 1 where sort, perl
 * and python were timed both ways (0.7 to 3; docs/ranks.md).  It is what counting costs most. */
#define COUNTED_CALL_NS 1.0
/* From this part of a function's time on that is told. */
#define COUNTED_CALLS_SHARE 0.1

/* The part of a function's time that its counted calls and returns may have taken, 0 to 1; 0 where
 * it is not known. */
static double once_share(const struct model_function *f)
{
	const uint64_t *classes = f->tally.class_instructions;
	const double calls = (double)(classes[INSN_CALL] + classes[INSN_RETURN]);
	return f->time_ns ? fmin(1, COUNTED_CALL_NS * calls / (double)f->time_ns) : 0;
}

/* Rows are in the order of the table: those that matter come first. */
static void note_times(const struct report_view *view, FILE *notes)
{
	const struct model *model = view->model;
	double changed_ns = 0;
	int n = 0;
	fputc(NOTE_FIRST, notes);
	fputs("one counted run (--once): the times include the counting", notes);
	for (size_t i = 0; i < model->n_functions; i++)
		if (once_share(&model->functions[i]) >= COUNTED_CALLS_SHARE)
			changed_ns += (double)model->functions[i].time_ns;
	if (changed_ns > 0.01 * (double)model->time_ns) {
		fprintf(notes,
			", which makes functions with many calls slower, here those with %.0f %% "
			"of the time (",
			100 * changed_ns / (double)model->time_ns);
		for (size_t i = 0; i < view->n_rank && n < MOST_NAMES; i++) {
			const struct model_function *f = &model->functions[view->rank[i]];
			if (once_share(f) >= COUNTED_CALLS_SHARE && f->n_samples)
				fprintf(notes, "%s%s", n++ ? ", " : "", f->name);
		}
		fputs("); loops, the kernel's work and waits have nearly their own", notes);
	}
	fputc('\0', notes);
}

void report_note_once(const struct report_view *view, FILE *notes)
{
	const struct profile *profile = view->profile;
	const bool once = profile_flag_fact(profile, "once");
	if (once && profile_fact_is(profile, "traffic_source", "traced"))
		note_first(notes, "one counted and traced run (--once --traffic=trace): the times "
				  "include both, and are several times too long where memory is "
				  "accessed; speeds are as much too low");
	else if (once)
		note_times(view, notes);
	if (profile_fact_is(profile, "run_kind", "count") && !profile->n_ranks)
		note_first(notes, "--run=count: the program was not timed; rfprof join puts it "
				  "together with a run of "
				  "--run=time");
	if (profile_fact_is(profile, "run_kind", "time") && !profile->n_ranks)
		note_first(notes, "--run=time: work, bytes and speeds were not counted; rfprof "
				  "join puts it together with a "
				  "run of --run=count");
	if (profile_get_fact(profile, "rank_roofs"))
		note_first(notes, "no roofs: %s", profile_get_fact(profile, "rank_roofs"));
}
