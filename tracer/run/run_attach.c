/* Measures a process that runs already, and says what of it is not measured. */
#include "tracer/run/run_attach.h"

#include "base/array.h"
#include "tracer/attach/attached.h"
#include "tracer/kernel/kernel_process.h"

static void say_beginning(const struct run *run)
{
	char text[160];
	if (run->options->span.duration_s > 0)
		snprintf(text, sizeof(text), "process %d is measured for %g s (Ctrl-C ends that)",
			 (int)run->options->pid, run->options->span.duration_s);
	else
		snprintf(text, sizeof(text),
			 "process %d is measured until it ends (Ctrl-C ends the measurement)",
			 (int)run->options->pid);
	run_log_say(&run->log, text);
}

static void add_samples(struct profile_timed_run *row, const struct profile *profile)
{
	row->samples = profile->n_samples;
	for (size_t i = 0; i < profile->n_samples; i++)
		row->time_ns += profile->samples[i].weight_ns;
}

struct rf_error *run_attached(struct run *run)
{
	const struct attached_options options = {.pid = run->options->pid,
						 .duration_s = run->options->span.duration_s,
						 .no_children = run->options->no_children,
						 .kept = run->kept};
	struct profile_timed_run row = {.shown = true};
	struct attached_result result = {0};
	struct kernel_process *kernels = NULL;
	say_beginning(run);
	struct rf_error *error =
		run->options->traffic.kernels
			? kernel_process_create(options.pid, run->options->traffic.kernels,
						run->profile, &kernels)
			: NULL;
	error = error ?: attached_measure(&options, run->profile, &result);
	if (kernels)
		profile_set_fact(run->profile, "call_times_why", "%s", "the process ran already");
	if (!error && kernels) /* in libraries that it has opened meanwhile */
		kernel_process_look(kernels);
	kernel_process_destroy(kernels);
	if (error)
		return error;
	row.wall_s = result.wall_s;
	add_samples(&row, run->profile);
	profile_set_fact(run->profile, "wall_s", "%.6f", result.wall_s);
	profile_set_fact(run->profile, "attached", "%d", (int)run->options->pid);
	run->goes_on = result.end == ATTACHED_TIME_OVER;
	if (result.end == ATTACHED_PROCESS_ENDED)
		run_log_note(&run->log, "the process has ended while it was measured");
	run->timed_status = 0;
	run->has_ended = true;
	return rf_array_add(run->profile->timed_runs, run->profile->n_timed_runs,
			    run->profile->cap_timed_runs, row);
}
