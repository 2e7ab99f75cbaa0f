/* Writes rfprof's own messages about a run. */
#include "tracer/run/run_log.h"

#include "base/crash.h"

#include <errno.h>
#include <unistd.h>

struct rf_error *run_log_open(struct run_log *log, const char *path, bool quiet,
			      struct profile *profile)
{
	*log = (struct run_log){.stream = path ? fopen(path, "we") : stderr,
				.quiet = quiet,
				.profile = profile};
	if (!log->stream)
		return rf_error_errno(RF_EACCESS, errno, "give another file with --log",
				      "cannot write %s", path);
	crash_set_log(fileno(log->stream));
	return NULL;
}

void run_log_close(struct run_log *log)
{
	crash_set_log(STDERR_FILENO);
	if (log->stream && log->stream != stderr)
		fclose(log->stream);
}

void run_log_say(const struct run_log *log, const char *text)
{
	if (!log->quiet)
		fprintf(log->stream, "rfprof: %s\n", text);
}

void run_log_note(struct run_log *log, const char *text)
{
	char key[32];
	snprintf(key, sizeof(key), "note.%d", ++log->n_notes);
	profile_set_fact(log->profile, key, "%s", text);
}

void run_log_warn(struct run_log *log, struct rf_error *error)
{
	if (!error)
		return;
	rf_error_print(error, log->stream);
	run_log_note(log, error->message);
	rf_error_destroy(error);
}

bool run_log_is_terminal(const struct run_log *log)
{
	return isatty(fileno(log->stream));
}
