/* Puts the roofs of this machine into a run's profile. */
#include "tracer/run/run_machine.h"

#include "machine/store/custom_roofs.h"
#include "machine/store/machine_get.h"
#include "profile/profile.h"

/* A line for the first step, or on a terminal one that overwrites itself. */
static void show_progress(void *context, const char *what, int step, int n_steps)
{
	const struct run_log *log = context;
	const bool terminal = run_log_is_terminal(log);
	if (!terminal && step > 1)
		return;
	fprintf(log->stream, "rfprof: measuring this machine, once: %d/%d %s%s", step, n_steps,
		what, terminal ? "\033[K\r" : " …\n");
	if (step == n_steps && terminal)
		fprintf(log->stream, "\033[K");
	fflush(log->stream);
}

struct rf_error *run_take_machine(struct run *run)
{
	struct machine machine = {0};
	struct custom_roof_set custom;
	struct rf_error *warning = NULL;
	const struct machine_options options = {
		.quick = true,
		.progress = run->log.quiet ? NULL : show_progress,
		.progress_context = &run->log,
	};
	struct rf_error *error = machine_get(&options, &machine, &warning);
	run_log_warn(&run->log, warning);
	if (error)
		return error;
	run_log_warn(&run->log, custom_roofs_load(&custom));
	error = profile_take_machine(run->profile, &machine);
	if (!error)
		error = profile_take_custom(run->profile, custom.roofs, custom.n);
	machine_deinit(&machine);
	return error;
}
