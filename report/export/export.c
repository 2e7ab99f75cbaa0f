/* The table of formats. */
#include "report/export/export.h"

static const struct {
	report_format *write;
	struct rf_error *(*check)(void); /* or NULL: it can be made anywhere */
} formats[N_EXPORTS] = {
#define EXPORT(name, writer, check, help) [EXPORT_##name] = {writer, check},
#include "report/rows/export_formats.def"
#undef EXPORT
};

struct rf_error *export_check(const struct export_paths *paths)
{
	struct rf_error *error = NULL;
	for (size_t i = 0; i < N_EXPORTS && !error; i++)
		if (paths->of[i] && formats[i].check)
			error = formats[i].check();
	return error;
}

struct rf_error *export_write(const struct report_view *view, const struct export_paths *paths)
{
	struct rf_error *error = NULL;
	for (size_t i = 0; i < N_EXPORTS && !error; i++)
		error = report_write_file(view, formats[i].write, paths->of[i]);
	return error;
}
