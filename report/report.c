/* One profile to all the formats asked for. */
#include "report/report.h"

#include "profile/profile.h"
#include "report/export/export.h"
#include "report/html/html.h"
#include "report/json/json.h"
#include "report/reasons/notes.h"
#include "report/rows/ranking.h"
#include "report/svg/svg.h"
#include "report/text/terminal_report.h"

/* context: the stream, or NULL. */
static struct rf_error *write_view(struct report_view *view, void *context)
{
	const struct report_options *options = view->options;
	FILE *stream = context;
	struct rf_error *error = report_notes(view);
	if (!error && stream)
		error = report_terminal(view, stream);
	if (!error)
		error = report_write_file(view, report_svg, options->svg_path);
	if (!error)
		error = report_write_file(view, report_json, options->json_path);
	if (!error)
		error = export_write(view, &options->exports);
	if (!error)
		error = report_write_file(view, report_html, options->html_path);
	report_notes_deinit(view);
	return error;
}

static struct rf_error *write_page(struct report_view *view, FILE *stream)
{
	struct rf_error *error = report_notes(view);
	if (!error)
		error = report_terminal(view, stream);
	report_notes_deinit(view);
	return error;
}

/* A page about one function is not about rows; the files beside it are. */
static struct rf_error *write_all(struct report_view *view, void *context)
{
	const bool page = view->options->function != NULL;
	if (!report_is_shaped(view->options))
		return write_view(view, context);
	struct rf_error *error = page && context ? write_page(view, context) : NULL;
	return error ? error : report_shape(view, write_view, page ? NULL : context);
}

struct rf_error *report_write(const struct profile *profile, const struct report_options *options,
			      FILE *stream)
{
	return report_with_view(profile, options, write_all, stream);
}

/* ---- a machine, without a run ---- */

static struct rf_error *draw_machine(const struct profile *profile, const char *path)
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
		error = draw_machine(profile, path);
	profile_destroy(profile);
	return error;
}
