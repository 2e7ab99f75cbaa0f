/* The machine in a profile, and its roofs as a picture without a run. */
#include "report/report.h"
#include "report/report_parts.h"

#include "base/array.h"
#include "machine/theory.h"

struct rf_error *report_take_custom(struct profile *profile, const struct custom_roof *roofs,
				    size_t n)
{
	bool done = true;
	for (size_t i = 0; i < n; i++)
		done &= rf_array_push(profile->custom_roofs, profile->n_custom_roofs,
				      profile->cap_custom_roofs, roofs[i]);
	return done ? NULL : report_no_memory();
}

struct rf_error *report_take_machine(struct profile *profile, const struct machine *machine)
{
	bool done = true;
	for (size_t i = 0; i < machine->n_roofs; i++)
		done &= rf_array_push(profile->roofs, profile->n_roofs, profile->cap_roofs,
				      machine->roofs[i]);
	profile_set_fact(profile, "cpu_model", "%s", machine->cpu_model);
	if (machine->microarchitecture)
		profile_set_fact(profile, "microarchitecture", "%s", machine->microarchitecture);
	profile_set_fact(profile, "usable_threads", "%d", machine->usable_threads);
	profile_set_fact(profile, "clock_ghz", "%.4f", machine->clock_ghz);
	if (theory_issue(machine->microarchitecture) > 0)
		profile_set_fact(profile, "issue_width", "%g",
				 theory_issue(machine->microarchitecture));
	if (machine->clock_fp_ghz > 0)
		profile_set_fact(profile, "clock_fp_ghz", "%.4f", machine->clock_fp_ghz);
	return done ? report_take_custom(profile, machine->custom_roofs, machine->n_custom_roofs)
		    : report_no_memory();
}

static struct rf_error *draw(const struct profile *profile, const char *path)
{
	struct model model;
	struct rf_error *error = model_build(profile, &model);
	if (error)
		return error;
	const struct report_view view = {.profile = profile, .model = &model, .machine = true};
	error = report_write_file(&view, report_svg, path);
	model_deinit(&model);
	return error;
}

struct rf_error *report_machine_svg(const struct machine *machine, const char *path)
{
	struct profile *profile = profile_create();
	struct rf_error *error =
		profile ? report_take_machine(profile, machine) : report_no_memory();
	if (!error)
		error = draw(profile, path);
	profile_destroy(profile);
	return error;
}
