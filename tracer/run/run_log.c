/* Writes rfprof's own messages about a run. */
#include "tracer/run/run_log.h"

#include "base/crash.h"

#include <unistd.h>

struct rf_error *run_log_open(struct run_log *log, const char *path, bool quiet,
			      struct profile *profile)
{
	const struct whole_file_wish wish = {path, "cannot write", "give another file with --log",
					     WHOLE_FILE_AT_ONCE};
	*log = (struct run_log){.stream = stderr, .quiet = quiet, .profile = profile};
	struct rf_error *error = path ? whole_file_stream(&wish, &log->file) : NULL;
	if (error)
		return error;
	if (path)
		log->stream = log->file.stream;
	crash_set_log(fileno(log->stream));
	return NULL;
}

void run_log_close(struct run_log *log)
{
	crash_set_log(STDERR_FILENO);
	if (log->file.stream)
		rf_error_destroy(whole_file_close(&log->file, NULL));
	log->file.stream = NULL;
}

void run_log_say(const struct run_log *log, const char *text)
{
	if (!log->quiet)
		fprintf(log->stream, "rfprof: %s\n", text);
}

void run_log_note(struct run_log *log, const char *text)
{
	profile_add_note(log->profile, "%s", text);
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
