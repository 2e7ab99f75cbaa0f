/* Repeats the timed run, and makes one profile of the runs.
 *
 * Each run is recorded into a profile of its own.  Which of them is shown is known at the end: the
 * one with the median time, so that its samples, threads and stacks belong together.  Of every run
 * there remain its totals and the time of each place in the code, from which a report has the
 * median and the spread of each function. */
#include "tracer/run/run_repeat.h"

#include "base/array.h"
#include "base/progress.h"
#include "base/search.h"
#include "tracer/launch/launch.h"
#include "tracer/run/run_launch.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- which run is shown ---- */

static int compare_times(const void *a, const void *b)
{
	const struct timed_run *const *x = a, *const *y = b;
	return rf_compare((*x)->row.time_ns, (*y)->row.time_ns)
		       ?: rf_compare((*x)->row.user_s, (*y)->row.user_s);
}

/* The median, or of two in the middle the shorter one; NULL when memory is short. */
static struct timed_run *choose_shown(struct timed_run *runs, size_t n)
{
	struct timed_run **order = malloc(n * sizeof(*order)), *shown = NULL;
	for (size_t i = 0; order && i < n; i++)
		order[i] = &runs[i];
	if (order) {
		qsort(order, n, sizeof(*order), compare_times);
		shown = order[(n - 1) / 2];
	}
	free(order);
	return shown;
}

/* ---- times by place ---- */

/* The row in `to` of a module of `from`, and in *offset the offset there: that of code made at run
 * time is another one in each profile.  PROFILE_NONE when memory is short. */
static uint32_t module_in(struct profile *to, const struct profile *from, uint32_t module,
			  uint64_t *offset)
{
	const struct profile_module *row = &from->modules[module];
	for (size_t i = 0; strcmp(row->path, "[jit]") == 0 && i < from->n_functions; i++) {
		const struct profile_function *function = &from->functions[i];
		if (function->module != module || *offset < function->start ||
		    *offset >= function->end)
			continue;
		uint32_t found;
		*offset += profile_jit_function(to, function->name, &found) - function->start;
		return found;
	}
	return profile_module(to, row->path, row->build_id);
}

static int compare_places(const void *a, const void *b)
{
	const struct profile_run_time *x = a, *y = b;
	return rf_compare(x->module, y->module) ?: rf_compare(x->offset, y->offset);
}

/* The samples of a run, by module and offset of its own profile; to be freed.  NULL when memory is
 * short. */
static struct profile_run_time *list_places(const struct profile *from)
{
	struct profile_run_time *list = calloc(from->n_samples + 1, sizeof(*list));
	for (size_t i = 0; list && i < from->n_samples; i++) {
		const struct profile_sample *sample = &from->samples[i];
		const struct profile_frame nowhere = {.module = PROFILE_NONE};
		const struct profile_frame *frame =
			sample->frame == PROFILE_NONE ? &nowhere : &from->frames[sample->frame];
		list[i] = (struct profile_run_time){.module = frame->module,
						    .offset = frame->offset,
						    .samples = 1,
						    .time_ns = sample->weight_ns};
	}
	if (list && from->n_samples)
		qsort(list, from->n_samples, sizeof(*list), compare_places);
	return list;
}

static struct rf_error *add_places(struct profile *to, const struct profile *from, uint32_t number)
{
	struct profile_run_time *list = list_places(from);
	struct rf_error *error = list ? NULL : rf_error_no_memory();
	for (size_t i = 0, n; !error && i < from->n_samples; i += n) {
		struct profile_run_time place = list[i];
		for (n = 1; i + n < from->n_samples && compare_places(&list[i], &list[i + n]) == 0;
		     n++) {
			place.samples++;
			place.time_ns += list[i + n].time_ns;
		}
		place.timed_run = number;
		if (place.module != PROFILE_NONE) {
			place.module = module_in(to, from, place.module, &place.offset);
			if (place.module == PROFILE_NONE)
				error = rf_error_no_memory();
		}
		error = error
				?: rf_array_add(to->run_times, to->n_run_times, to->cap_run_times,
						place);
	}
	free(list);
	return error;
}

/* ---- one profile ---- */

static struct rf_error *keep(struct run *run, struct timed_run *runs, size_t n)
{
	struct timed_run *shown = choose_shown(runs, n);
	if (!shown)
		return rf_error_no_memory();
	struct profile *to = shown->profile;
	struct rf_error *error = NULL;
	shown->row.shown = true;
	for (uint32_t i = 0; !error && i < n; i++) {
		error = rf_array_add(to->timed_runs, to->n_timed_runs, to->cap_timed_runs,
				     runs[i].row);
		if (!error && n > 1)
			error = add_places(to, runs[i].profile, i);
	}
	if (!error)
		profile_move_rows(to, run->profile);
	return error;
}

/* "2 timed runs ended otherwise than the first" */
static void note_runs(struct run *run, size_t n, const char *what)
{
	char text[96];
	snprintf(text, sizeof(text), "%zu timed run%s %s", n, n == 1 ? "" : "s", what);
	if (n)
		run_log_note(&run->log, text);
}

/* What makes a run unlike the first is worth a note. */
static void note_unlike(struct run *run, const struct timed_run *runs, size_t n)
{
	size_t outputs = 0, ends = 0;
	for (size_t i = 1; i < n; i++) {
		outputs += runs[i].other_output;
		ends += runs[i].row.exit_status != runs[0].row.exit_status;
	}
	note_runs(run, outputs, "wrote other output than the first");
	note_runs(run, ends, "ended otherwise than the first");
}

/* Before a repetition, beside which nothing runs.  The counted run takes one more at least. */
static void show_repetition(struct progress *progress, size_t n, size_t wanted)
{
	char text[64];
	snprintf(text, sizeof(text), "run %zu of %zu times the program", n + 1, wanted);
	progress_show(progress, (double)n / (double)(wanted + 1), text);
}

/* Runs until all are there or one is cut short; *n gets the number of those that count. */
static struct rf_error *run_all(struct run *run, struct timed_run *runs, size_t *n)
{
	const size_t wanted = run->options->repeat;
	struct rf_error *error = NULL;
	bool cut = false;
	struct progress progress = progress_begin(run->log.quiet ? NULL : run->log.stream);
	for (*n = 0; *n < wanted && !error && !cut; (*n)++) {
		struct timed_run *timed = &runs[*n];
		if (*n) /* the first has the terminal */
			show_repetition(&progress, *n, wanted);
		timed->profile = profile_create();
		error = timed->profile ? run_timed(run, *n == 0 ? 1 : 2, timed)
				       : rf_error_no_memory();
		cut = !error && launch_was_interrupted(timed->row.exit_status);
		if (timed->has_ended && (cut || *n == 0))
			run->timed_status = timed->row.exit_status;
		run->has_ended |= timed->has_ended;
	}
	progress_end(&progress);
	if (*n > 1 && (cut || error)) { /* what was measured before counts */
		--*n;
		note_runs(run, *n, "came to an end before the repetition was cut short");
		run_log_warn(&run->log, error);
		error = NULL;
	}
	return error;
}

struct rf_error *run_timed_all(struct run *run)
{
	const size_t wanted = run->options->repeat;
	size_t n = 0;
	assert(wanted >= 1);
	struct timed_run *runs = calloc(wanted, sizeof(*runs));
	struct rf_error *error = runs ? run_all(run, runs, &n) : rf_error_no_memory();
	if (!error)
		error = keep(run, runs, n);
	if (!error)
		note_unlike(run, runs, n);
	for (size_t i = 0; runs && i < wanted; i++)
		profile_destroy(runs[i].profile);
	free(runs);
	return error;
}
