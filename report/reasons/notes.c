/* The sentences under the table: how each figure was obtained, and what it leaves out. */
#include "report/reasons/notes.h"

#include "base/array.h"
#include "base/text.h"
#include "report/account/account.h"
#include "report/model/model_counters.h"
#include "report/model/model_runs.h"
#include "report/reasons/evidence.h"
#include "report/reasons/notes_once.h"
#include "report/reasons/notes_rows.h"
#include "report/reasons/notes_traffic.h"
#include "report/rows/kernel_sums.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FEW_SAMPLES 100 /* a ratio of a function from fewer says little */
#define MAX_REASONS 5   /* of each kind */
#define MUCH 0.02       /* of the time, not counted: rows may stand in the wrong order */

/* ---- where time and work are from ---- */

/* The median of a sum is not the sum of the medians, but near it while all runs do the same. */
static void note_runs(const struct model *model, FILE *notes)
{
	const double sum = (double)model->time_ns * 1e-9, median = model->runs.s.median;
	if (!model->runs.n)
		return;
	note(notes,
	     "times are medians of %zu runs; ±: their 95 %% interval; samples, threads and call "
	     "paths: the run with the median time",
	     model->runs.n);
	if (fabs(sum - median) > 0.05 * median)
		note_first(
			notes,
			"the runs differ in what they do: the median of their times is %s s, the "
			"medians "
			"of the functions add up to %s s",
			REPORT_NUMBER(median), REPORT_NUMBER(sum));
}

static void note_missing_samples(const struct report_view *view, FILE *notes)
{
	const double missing = model_unsampled_s(view->profile),
		     throttled = profile_number_fact(view->profile, "throttled_samples", 0);
	char why[80] = "";
	if (missing <= 0)
		return;
	if (throttled > 0)
		snprintf(why, sizeof(why), " (it throttled sampling %.0f times)", throttled);
	note_first(
		notes,
		"SAMPLES ARE MISSING: no sample stands for %s s of the user time that the kernel "
		"accounts for%s: times are too short and speeds too high by as much",
		REPORT_NUMBER(missing), why);
}

static void note_serial(const struct report_view *view, FILE *notes)
{
	double most;
	const double share = account_serial_share(view->profile, view->account, &most);
	if (share >= 0)
		note_first(
			notes,
			"for %.0f %% of the time in which anything ran one thread did, alone: with "
			"all "
			"processors the whole can be at most %.2g times as fast as with one",
			100 * share, most);
}

/* The split of what threads ran; the sum is known. */
static void note_split(const struct account *account, FILE *notes)
{
	if (account && account->known && !isnan(account->split_s) && account->kernel_s > 0)
		note(notes,
		     "user and kernel time: %s s together, parted as the samples are: %s and %s "
		     "s, "
		     "either ± %s s (95 %%)",
		     REPORT_NUMBER(account->user_s + account->kernel_s),
		     REPORT_NUMBER(account->user_s), REPORT_NUMBER(account->kernel_s),
		     REPORT_NUMBER(account->split_s));
}

static void note_shared_cores(const struct profile *profile, FILE *notes)
{
	const double slots = profile_number_fact(profile, "left_slots", NAN),
		     loads = profile_number_fact(profile, "left_loads", NAN),
		     stores = profile_number_fact(profile, "left_stores", NAN);
	if (isnan(slots))
		return;
	if (model_shares_cores(profile))
		note_first(notes,
			   "SHARED CORES: others had %.0f %% of their slots for instructions",
			   100 - 100 * slots);
	note(notes,
	     "of its cores' slots for instructions the program had %.0f %%, of loads %.0f %%, of "
	     "stores %.0f %% (%.0f looks); the rest was other hardware threads', which may be a "
	     "virtual machine's neighbours: \"shared core\" in --ecm",
	     100 * slots, 100 * loads, 100 * stores, profile_number_fact(profile, "core_looks", 0));
}

static void note_time_and_work(const struct report_view *view, FILE *notes)
{
	const char *time = profile_get_fact(view->profile, "time_source");
	const char *work = profile_get_fact(view->profile, "work_source");
	const char *incomplete = profile_get_fact(view->profile, "counts_incomplete");
	const char *told = profile_get_fact(view->profile, "threads_told");
	const unsigned long long n = view->model->n_samples;
	const double cost_us = 1e-3 * profile_number_fact(view->profile, "sample_cost_ns", 0);
	const bool is_about = profile_get_fact(view->profile, "span_start_error_s");
	char every[128] = "";
	note_missing_samples(view, notes);
	if (incomplete && view->model->counted)
		note_first(notes,
			   "INCOMPLETE COUNTS (%s): work, bytes and speeds are lower bounds, "
			   "distances "
			   "and headroom upper bounds",
			   incomplete);
	if (told)
		note(notes, "%s", told);
	if (n > 0 && cost_us >= 0.1)
		snprintf(every, sizeof(every), ", one per %s ms, their own %s us each taken off",
			 REPORT_NUMBER(1e-6 * view->model->time_ns / n), REPORT_NUMBER(cost_us));
	else if (n > 0)
		snprintf(every, sizeof(every), ", one per %s ms",
			 REPORT_NUMBER(1e-6 * view->model->time_ns / n));
	const char *how = !view->model->counted                ? ""
			  : incomplete                         ? " (incomplete)"
			  : is_about                           ? " (exact but for the span's ends)"
			  : model_from_counters(view->profile) ? " (sampled)"
							       : " (exact)";
	note(notes, "time: %s, %llu sample%s%s; work and bytes: %s%s",
	     time ? time : "unknown source", n, n == 1 ? "" : "s", every,
	     work ? work : "unknown source", how);
	note_split(view->account, notes);
	note_runs(view->model, notes);
	note_serial(view, notes);
	note_shared_cores(view->profile, notes);
}

/* Which part of the run all of it is about, and how the counted run came to the same part. */
static void note_span(const struct report_view *view, FILE *notes)
{
	const struct profile *profile = view->profile;
	const char *counted = profile_get_fact(profile, "span_counted_by");
	const char *timed = profile_get_fact(profile, "span_timed_by");
	const double error_s = fmax(profile_number_fact(profile, "span_start_error_s", 0),
				    profile_number_fact(profile, "span_end_error_s", 0));
	if (profile_get_fact(profile, "interrupted_calls"))
		note_first(notes,
			   "the program was interrupted: the counted run was ended behind as many "
			   "reads and writes, %.0f, and what it did since the last one may be off",
			   profile_number_fact(profile, "interrupted_calls", 0));
	if (!profile_get_fact(profile, "run_s"))
		return;
	note_first(notes, "only %s to %s s of the %s s that the program ran were measured",
		   REPORT_NUMBER(profile_number_fact(profile, "span_start_s", NAN)),
		   REPORT_NUMBER(profile_number_fact(profile, "span_end_s", NAN)),
		   REPORT_NUMBER(profile_number_fact(profile, "run_s", NAN)));
	note(notes, "the span: timed by %s; counted by %s", timed ? timed : "?",
	     counted ? counted : "nothing");
	if (profile_get_fact(profile, "span_start_error_s"))
		note(notes,
		     "the span's part of the work is found by how long its code takes natively: "
		     "its ends are off by %s s of processor time or more, and work and traffic "
		     "with them",
		     REPORT_NUMBER(error_s));
}

static void note_sources(const struct report_view *view, FILE *notes)
{
	bool inferred = false;
	note_span(view, notes);
	note_time_and_work(view, notes);
	for (size_t i = 0; i < view->n_shown; i++) {
		const struct model_place *place = &view->model->functions[view->rank[i]].place;
		inferred |= place->level[0] && !place->traced;
	}
	if (inferred)
		note(notes,
		     "~LEVEL: not measured but inferred, the slowest level whose roof is not below "
		     "the point; \"below\" and \"headroom\" are the least that they can be");
}

/* ---- hardware counters ---- */

static void note_counter(const struct profile_counter *counter, FILE *notes)
{
	note(notes, "%s by the PMU: %s (%s × %g, %llu samples; %s%s%s)", counter->quantity,
	     REPORT_NUMBER(counter->multiplier * counter->events), counter->event,
	     counter->multiplier, (unsigned long long)counter->samples,
	     counter->use == COUNTER_USED       ? "all of the time"
	     : counter->use == COUNTER_IN_TURNS ? "estimated"
						: "a lower bound",
	     counter->why[0] ? "; " : "", counter->why);
}

static uint64_t samples_of(const struct model *model, const struct model_function *f)
{
	uint64_t n = 0;
	for (size_t i = 0; f->quantities && i < model->n_quantities; i++)
		n = f->quantities[i].samples > n ? f->quantities[i].samples : n;
	return n;
}

static void note_ratios(const struct report_view *view, FILE *notes)
{
	for (size_t i = 0; i < view->n_shown; i++) {
		const struct model_function *f = &view->model->functions[view->rank[i]];
		const double flop = model_flop_ratio(view->model, f),
			     instructions = model_instruction_ratio(view->model, f);
		char of_flop[32] = "", of_instructions[40] = "";
		if (samples_of(view->model, f) < FEW_SAMPLES ||
		    (isnan(flop) && isnan(instructions)))
			continue;
		if (!isnan(flop))
			snprintf(of_flop, sizeof(of_flop), " flop %.3f", flop);
		if (!isnan(instructions))
			snprintf(of_instructions, sizeof(of_instructions), "%s instructions %.3f",
				 isnan(flop) ? "" : ",", instructions);
		note(notes, "%s: PMU/counted:%s%s", f->name, of_flop, of_instructions);
	}
}

/* Whether an earlier counter that is not used either is of the same quantity. */
static bool is_named_before(const struct profile *profile, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (profile->counters[k].use == COUNTER_UNUSED &&
		    strcmp(profile->counters[k].quantity, profile->counters[i].quantity) == 0)
			return true;
	return false;
}

static bool is_flop(const struct profile_counter *counter)
{
	return strncmp(counter->quantity, "flop_", 5) == 0;
}

/* Why there are no flop decides what to do; of all else that a processor cannot count it is enough
 * to know that it is not there. */
static void note_unused(const struct profile *profile, FILE *notes)
{
	const char *between = "not counted by the PMU: ";
	for (size_t i = 0; i < profile->n_counters; i++)
		if (profile->counters[i].use == COUNTER_UNUSED && is_flop(&profile->counters[i]))
			note(notes, "the event %s (%s) is not used: %s", profile->counters[i].event,
			     profile->counters[i].quantity, profile->counters[i].why);
	for (size_t i = 0; i < profile->n_counters; i++) {
		if (profile->counters[i].use != COUNTER_UNUSED || is_flop(&profile->counters[i]) ||
		    is_named_before(profile, i))
			continue;
		fprintf(notes, "%s%s", between, profile->counters[i].quantity);
		between = ", ";
	}
	if (between[0] == ',')
		note(notes, " (why: counters in --json, and rfprof doctor)");
}

static void note_counters(const struct report_view *view, FILE *notes)
{
	const struct profile *profile = view->profile;
	const char *lost = profile_get_fact(profile, "counter_samples_lost");
	if (lost)
		note_first(notes,
			   "%s samples of hardware counters were lost: the shares of functions are "
			   "less "
			   "sure",
			   lost);
	for (size_t i = 0; i < profile->n_counters; i++)
		if (profile->counters[i].use != COUNTER_UNUSED)
			note_counter(&profile->counters[i], notes);
	note_unused(profile, notes);
	if (model_has_both(profile))
		note_ratios(view, notes);
}

/* ---- what was not counted ---- */

/* The causes of uncounted time, each with its share. */
static void note_causes(const struct model *model, FILE *notes)
{
	for (size_t i = 0; i < model->n_uncounted && i < MAX_REASONS; i++) {
		const struct model_uncounted *part = &model->uncounted[i];
		const bool named = part->name[0];
		if ((double)part->time_ns >= MUCH * (double)model->time_ns)
			putc(NOTE_FIRST, notes);
		note(notes, "not counted, %.1f %% of the time: %s%s%s%s%s",
		     100 * (double)part->time_ns / (double)model->time_ns, named ? part->kind : "",
		     named ? " " : "", part->name, named ? ": " : "", part->reason);
	}
	if (model->n_uncounted > MAX_REASONS)
		note(notes, "and %zu more (\"uncounted\" in the JSON report)",
		     model->n_uncounted - MAX_REASONS);
}

bool report_has_time(const struct model *model, const char *reason)
{
	for (size_t i = 0; i < model->n_uncounted; i++)
		if (strcmp(model->uncounted[i].reason, reason) == 0)
			return true;
	return false;
}

/* Reasons for which no time was seen. */
static void note_reasons(const struct report_view *view, FILE *notes)
{
	const struct profile *profile = view->profile;
	size_t n = 0;
	for (size_t i = 0; i < profile->n_uncounted; i++) {
		const struct profile_uncounted *row = &profile->uncounted[i];
		const bool has_module = row->module != PROFILE_NONE;
		if (!report_has_time(view->model, row->reason) && n++ < MAX_REASONS)
			note(notes, "not counted: %s%s%s",
			     has_module ? profile->modules[row->module].name : "",
			     has_module ? ": " : "", row->reason);
	}
	if (n > MAX_REASONS)
		note(notes, "and %zu more reasons (table \"uncounted\" of the profile)",
		     n - MAX_REASONS);
}

static void note_uncounted(const struct report_view *view, FILE *notes)
{
	const struct model *model = view->model;
	const double share = (double)model->uncounted_ns / (double)model->time_ns;
	if (model->uncounted_ns > 0 && share >= MUCH)
		putc(NOTE_FIRST, notes);
	if (model->uncounted_ns > 0)
		note(notes,
		     "not counted: %s s (%.1f %%), in all; what was done in that time "
		     "is not known",
		     REPORT_NUMBER((double)model->uncounted_ns * 1e-9), 100 * share);
	note_causes(model, notes);
	note_reasons(view, notes);
	if (model->unreadable_blocks)
		note(notes,
		     "%zu blocks end early: they hold an instruction that rfprof cannot decode",
		     model->unreadable_blocks);
	if (model->unmatched_units)
		note(notes,
		     "%zu run-time counts belong to no counted instruction and were left out",
		     model->unmatched_units);
}

/* ---- how the runs ended, and what of them is missing ---- */

static void note_run(const struct report_view *view, FILE *notes)
{
	const struct profile *profile = view->profile;
	const char *status = profile_get_fact(profile, "exit_status");
	const char *out = profile_get_fact(profile, "stdout_same");
	const double unsampled = profile_number_fact(profile, "unsampled_threads", 0);
	const double lost = profile_number_fact(profile, "lost_samples", 0);
	if (profile_get_fact(profile, "attached"))
		note_first(notes,
			   "process %.0f was measured while it ran (--pid): times and places; its "
			   "work and traffic are not counted",
			   profile_number_fact(profile, "attached", 0));
	if (profile_get_fact(profile, "snapshot"))
		note_first(
			notes,
			"a snapshot, number %.0f, of a program that went on: times and places of "
			"its first %s s; its work and traffic are counted behind its end",
			profile_number_fact(profile, "snapshot", 0),
			REPORT_NUMBER(profile_number_fact(profile, "wall_s", 0)));
	if (profile_fact_is(profile, "no_children", "1"))
		note_first(notes,
			   "--no-children: processes that the program started are neither timed "
			   "nor counted");
	report_note_once(view, notes);
	if (profile_flag_fact(profile, "redacted"))
		note(notes, "--redact: arguments, host name and directories were taken out");
	if (status && strcmp(status, "0") != 0)
		note_first(notes, "the program ended with %s%s",
			   strncmp(status, "signal", 6) == 0 ? "" : "exit status ", status);
	if (out && strcmp(out, "different") == 0)
		note_first(notes, "the two runs wrote different output: time and work may not "
				  "belong together");
	else if (out && strcmp(out, "same but for numbers") == 0)
		note(notes, "the two runs wrote other numbers, such as times, in the same words");
	else if (out && strcmp(out, "same") != 0)
		note(notes, "standard output of the two runs was not compared: %s",
		     strncmp(out, "unknown: ", 9) == 0 ? out + 9 : "");
	const double idle_s = profile_number_fact(profile, "counted_idle_s", 0);
	if (idle_s > 0)
		note_first(
			notes,
			"run 2 waited for what came to run 1 alone (a client, a signal, an end): "
			"it was ended when nothing had run for %s s, and what it had done by "
			"then is counted. --once counts the only run, --pid and --run=time "
			"none",
			REPORT_NUMBER(idle_s));
	else if (profile_fact_is(profile, "exit_same", "different"))
		note_first(notes,
			   "the two runs ended differently: time and work may not belong together");
	if (unsampled > 0)
		note_first(notes, "%.0f threads could not be sampled: their time is missing",
			   unsampled);
	if (lost > 0 && lost >= MUCH * (double)view->model->n_samples)
		putc(NOTE_FIRST, notes);
	if (lost > 0)
		note(notes, "%.0f samples were lost: times are that much too short", lost);
}

/* ---- all of them ---- */

/* What the run itself has noted: facts "note.…". */
static void note_facts(const struct report_view *view, FILE *notes)
{
	for (size_t i = 0; i < view->profile->n_facts; i++)
		if (strncmp(view->profile->facts[i].key, "note.", 5) == 0)
			note_first(notes, "%s", view->profile->facts[i].value);
}

/* Why times of kernels are sums of samples. */
static void note_call_times(const struct profile *profile, FILE *notes)
{
	const char *why = profile_get_fact(profile, "call_times_why");
	const char *missing = profile_get_fact(profile, "call_times_missing");
	const char *of_last = profile_get_fact(profile, "call_times_missing_why");
	if (why)
		note(notes,
		     "calls of kernels were not timed one by one, and times of kernels are sums of "
		     "samples: %s",
		     why);
	else if (missing)
		note(notes,
		     "calls of these kernels were not timed one by one, and their times are sums "
		     "of "
		     "samples: %s (of the last: %s)",
		     missing, of_last ? of_last : "not known");
}

/* Of a process that ran already: it may be there, and have no sample. */
static void note_sampled_kernel(const struct profile *profile, uint32_t kernel, FILE *notes)
{
	bool is_there = false;
	for (size_t i = 0; i < profile->n_kernel_places; i++)
		is_there |= profile->kernel_places[i].kernel == kernel;
	if (!is_there)
		note_first(notes,
			   "kernel %s: no file that the process had mapped has a function of that "
			   "name",
			   profile->kernels[kernel].name);
}

static void note_kernels(const struct report_view *view, FILE *notes)
{
	const struct profile *profile = view->profile;
	const char *incomplete = profile_get_fact(profile, "kernels_incomplete");
	for (size_t i = 0; i < profile->n_kernels; i++)
		if (!kernel_calls_known(profile))
			note_sampled_kernel(profile, (uint32_t)i, notes);
		else if (!profile->kernels[i].calls)
			note_first(notes,
				   "kernel %s: nothing of that name was called in counted code; a "
				   "name is that "
				   "of a symbol, or as this report prints it",
				   profile->kernels[i].name);
	if (incomplete)
		note_first(notes, "%s", incomplete);
	note_call_times(profile, notes);
}

static void (*const all_notes[])(const struct report_view *view, FILE *notes) = {
	note_sources, note_counters,    report_note_traffic, note_uncounted,
	note_run,     report_note_rows, note_kernels,        note_facts,
};

struct rf_error *report_notes(struct report_view *view)
{
	char *text = NULL;
	size_t size;
	FILE *notes = open_memstream(&text, &size);
	for (size_t i = 0; notes && i < sizeof(all_notes) / sizeof(*all_notes); i++)
		all_notes[i](view, notes);
	bool ok = notes && !ferror(notes);
	if (notes)
		ok = fclose(notes) == 0 && ok;
	for (const char *at = text; ok && at < text + size; at += strlen(at) + 1) {
		struct report_note one = {.first = *at == NOTE_FIRST};
		at += one.first;
		one.text = text_clean(at);
		ok = one.text && rf_array_push(view->notes, view->n_notes, view->cap_notes, one);
		if (!ok)
			free(one.text);
	}
	free(text);
	return ok ? NULL : rf_error_no_memory();
}

void report_notes_deinit(struct report_view *view)
{
	for (size_t i = 0; i < view->n_notes; i++)
		free(view->notes[i].text);
	free(view->notes);
	view->notes = NULL;
	view->n_notes = view->cap_notes = 0;
}
