/* Breakpoints at kernels in the timed run, between its start and its end. */
#include "tracer/run/run_calls.h"

#include "tracer/calls/call_watch.h"
#include "tracer/span/entry_stop.h"

#include <sys/stat.h>

static void say_why(struct profile *profile, struct rf_error *error)
{
	if (error)
		profile_set_fact(profile, "call_times_why", "%s", error->message);
	rf_error_destroy(error);
}

/* A program that gets rights by its file does not get them while it is traced. */
static bool gets_rights(const char *path)
{
	struct stat status;
	return stat(path, &status) == 0 && (status.st_mode & (S_ISUID | S_ISGID));
}

static struct rf_error *check(const struct run *run)
{
	const char *why = NULL;
	if (run->sampler_ops != &sampler_perf)
		why = "that needs the sampler perf";
	else if (run->span)
		why = "not with a part of the run";
	else if (run->options->traffic.caches_at_calls == CACHES_COLD)
		why = "not with --caches=cold";
	else if (gets_rights(run->path))
		why = "the program's file gives it rights";
	return why ? rf_error_create(RF_EUNAVAILABLE, NULL, "%s", why) : NULL;
}

struct call_watch *run_calls_prepare(const struct run *run, pid_t pid, struct profile *profile)
{
	const char *kernels = run->options->traffic.kernels;
	struct call_watch *watch = NULL;
	if (!kernels)
		return NULL;
	struct rf_error *error = check(run) ?: call_watch_create(pid, kernels, run->options->no_children, &watch)
						     ?: entry_stop_prepare(pid);
	if (!error)
		return watch;
	call_watch_destroy(watch);
	say_why(profile, error);
	return NULL;
}

struct at_entry {
	struct call_watch *watch;
	struct profile *profile;
};

static struct rf_error *begin(void *context, pid_t pid)
{
	const struct at_entry *at = context;
	(void)pid;
	say_why(at->profile, call_watch_begin(at->watch));
	return NULL;
}

void run_calls_begin(struct call_watch *watch, pid_t pid, struct profile *profile)
{
	struct at_entry at = {watch, profile};
	rf_error_destroy(entry_stop_wait(pid, begin, &at));
}

struct rf_error *run_calls_finish(struct call_watch *watch, struct profile *profile)
{
	if (!watch)
		return NULL;
	struct rf_error *error = call_watch_finish(watch, profile);
	call_watch_destroy(watch);
	return error;
}

void run_calls_settle(struct profile *profile)
{
	if (profile->n_kernels)
		return;
	profile->n_kernel_times = profile->n_kernel_call_times = 0;
}
