/* Has the code of a profile named, and shows what is fetched for that. */
#include "tracer/run/run_names.h"

#include "base/text.h"
#include "symbols/debuginfod.h"
#include "symbols/resolve.h"

#include <stdlib.h>

/* One line that overwrites itself. */
static void show_fetch(void *context, const char *module, long done, long all)
{
	const struct run_log *log = context;
	if (log->quiet || !run_log_is_terminal(log))
		return;
	char *name = text_clean(module);
	if (done < 0)
		fprintf(log->stream, "\033[K");
	else if (all > 0)
		fprintf(log->stream,
			"rfprof: debug information of %s: %.1f of %.1f MB (Ctrl-C ends "
			"this)\033[K\r",
			name ? name : "?", (double)done * 1e-6, (double)all * 1e-6);
	else
		fprintf(log->stream,
			"rfprof: debug information of %s: %.1f MB (Ctrl-C ends this)\033[K\r",
			name ? name : "?", (double)done * 1e-6);
	fflush(log->stream);
	free(name);
}

static void note_fetched(struct run *run, const struct debuginfod_result *result)
{
	char *trouble = result->trouble ? text_clean(result->trouble) : NULL;
	if (trouble)
		run_log_warn(&run->log,
			     rf_error_create(RF_EUNAVAILABLE, NULL, "debuginfod: %s", trouble));
	free(trouble);
	profile_set_fact(run->profile, "debuginfod", "%zu files fetched, %zu not found",
			 result->fetched, result->missing);
	if (!run->log.quiet)
		fprintf(run->log.stream,
			"rfprof: debuginfod: %zu debug file%s fetched, %zu not found\n",
			result->fetched, result->fetched == 1 ? "" : "s", result->missing);
}

struct rf_error *run_resolve_names(struct run *run)
{
	struct debuginfod *debuginfod = NULL;
	struct rf_error *error =
		run->fetches ? debuginfod_create(show_fetch, &run->log, &debuginfod) : NULL;
	run_log_warn(&run->log, error);
	error = symbols_resolve(run->profile, debuginfod ? debuginfod_fetcher(debuginfod) : NULL);
	if (debuginfod && !error) {
		const struct debuginfod_result result = debuginfod_result(debuginfod);
		note_fetched(run, &result);
	}
	debuginfod_destroy(debuginfod);
	return error;
}
