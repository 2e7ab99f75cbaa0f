/* `rfprof doctor`: gathers what works here and writes it. */
#include "cli/command.h"

#include "cli/command_line.h"
#include "cli/output_file.h"
#include "tracer/doctor/print.h"
#include "tracer/doctor/probes.h"

#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DEFAULT_COLUMNS = 132 }; /* where the table does not go to a terminal */
enum { LIMIT_MS = 20000 };      /* for each probe; they take milliseconds */

static size_t window_columns(void)
{
	struct winsize size;
	return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col
									   : DEFAULT_COLUMNS;
}

struct rf_error *doctor_command(const struct options *given, const char **words, int *status)
{
	static struct doctor_report report;
	if (*words)
		return usage_error("rfprof doctor takes no argument", *words);
	struct doctor_facts *facts = doctor_facts_create(LIMIT_MS);
	if (!facts)
		return rf_error_no_memory();
	doctor_report_make(facts, &report);
	doctor_facts_destroy(facts);
	*status = W_EXITCODE(report.possible ? 0 : 1, 0);
	return output_stream_flush(stdout,
				   given->doctor_json
					   ? doctor_write_json(&report, stdout)
					   : doctor_print(&report, window_columns(), stdout));
}
