/* The machine's roofs as a picture, without a run. */
#include "report/report_machine.h"

#include "profile/profile.h"
#include "report/rows/view.h"
#include "report/svg/svg.h"

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
		profile ? profile_take_machine(profile, machine) : rf_error_no_memory();
	if (!error)
		error = draw(profile, path);
	profile_destroy(profile);
	return error;
}
