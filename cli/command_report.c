/* `rfprof report FILE`: reads a profile and writes all that was asked for. */
#include "cli/command.h"

#include "cli/output_file.h"
#include "cli/report_request.h"
#include "profile/profile.h"
#include "report/export/export.h"
#include "report/report.h"

/* The table, unless something else has standard output. */
static struct rf_error *write_profile(const struct profile *profile, const struct options *given,
				      const struct report_options *options)
{
	const bool other = report_stdout_files(options) && !given->output && !given->to_stdout;
	FILE *table;
	struct rf_error *error = output_file_open(given->output, stdout, &table);
	if (error)
		return error;
	error = report_write(profile, options, other ? NULL : table);
	return output_file_close(given->output, table, error);
}

struct rf_error *report_command(const struct options *given, const char **words, int *status)
{
	(void)status;
	struct report_options options;
	struct profile *profile = NULL;
	struct rf_error *error = report_request(given, &options);
	if (error)
		return error;
	if (!words[0] || words[1])
		return rf_error_create(RF_EINPUT, "try rfprof report rfprof-PROGRAM.rfp",
				       "one profile is wanted");
	options.saved_as = words[0];
	error = export_check(&options.exports);
	if (!error)
		error = report_from_sums(&options) ? profile_load_sums(words[0], &profile)
						   : profile_load(words[0], &profile);
	if (!error)
		error = write_profile(profile, given, &options);
	profile_destroy(profile);
	return error;
}
