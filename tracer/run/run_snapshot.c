/* A snapshot is made by a copy of this process (fork), which has all that was sampled so far, and
 * the program is none of its children: while the copy names code and writes the file, the rings of
 * the samples are read on here.  The thread that reads them makes the copy, between two rounds, so
 * that what it holds is whole.  The copy has no ring (the kernel does not hand them down), and may
 * change nothing that it shares with this process: it switches no event off, and lets go of the
 * program's streams, of which it would else keep an end open. */
#include "tracer/run/run_snapshot.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/crash.h"
#include "tracer/launch/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* It has time: the program comes first. */
enum { NICENESS = 10 };

/* A copy of one thread among several may find a lock taken that nobody gives back: it ends then,
 * and the run does not wait for it for good. */
enum { LONGEST_S = 600 };

static void end_in_time(void)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	signal(SIGALRM, SIG_DFL);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	alarm(LONGEST_S);
}

/* ---- in the copy ---- */

/* What it says of its own, but for an error, was said, or will be said at the end. */
static int mute(const struct run *run)
{
	const int log = fileno(run->log.stream), kept = fcntl(log, F_DUPFD_CLOEXEC, 3);
	const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
	dup2(nowhere, STDIN_FILENO);
	dup2(nowhere, STDOUT_FILENO);
	dup2(nowhere, log);
	close(nowhere);
	return kept;
}

static struct rf_error *complete(struct run_snapshots *snapshots, uint64_t now)
{
	struct run *run = snapshots->run;
	struct profile *profile = snapshots->profile;
	struct profile_timed_run row = {.shown = true};
	struct sampler *sampler = snapshots->sampler;
	sampler->end_ns = now;
	struct rf_error *error = run->sampler_ops->snapshot(sampler);
	if (error)
		return error;
	row.wall_s = (double)(now - sampler->release_ns) * 1e-9;
	row.samples = profile->n_samples;
	for (size_t i = 0; i < profile->n_samples; i++)
		row.time_ns += profile->samples[i].weight_ns;
	profile_set_fact(profile, "wall_s", "%.6f", row.wall_s);
	profile_set_fact(profile, "snapshot", "%u", snapshots->n);
	error = rf_array_add(profile->timed_runs, profile->n_timed_runs, profile->cap_timed_runs,
			     row);
	if (!error)
		profile_move_rows(profile, run->profile);
	return error ? error : run->save_snapshot(run);
}

__attribute__((noreturn)) static void save(struct run_snapshots *snapshots, uint64_t now)
{
	struct run *run = snapshots->run;
	end_in_time();
	crash_set_last(NULL, NULL, NULL);
	stdio_plan_forget(run->plan);
	const int log = mute(run);
	setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + NICENESS);
	run->is_snapshot = true;
	struct rf_error *error = complete(snapshots, now);
	if (error) {
		fflush(run->log.stream);
		dup2(log, fileno(run->log.stream));
		rf_error_print(error, run->log.stream);
		fflush(run->log.stream);
	}
	_exit(error ? EXIT_FAILURE : EXIT_SUCCESS);
}

/* ---- in the thread that reads samples ---- */

/* True: there is no copy any more. */
static bool has_ended(struct run_snapshots *snapshots, int options)
{
	int status = 0;
	pid_t ended;
	if (!snapshots->child)
		return true;
	while ((ended = waitpid(snapshots->child, &status, options)) < 0 && errno == EINTR)
		;
	if (ended == 0)
		return false;
	snapshots->child = 0;
	snapshots->n_failed += ended < 0 || status != 0;
	return true;
}

/* One that takes longer than the time between two delays the next one. */
static void look(void *context, uint64_t now)
{
	struct run_snapshots *snapshots = context;
	const uint64_t every_ns = (uint64_t)(snapshots->run->options->every_s * 1e9);
	const uint64_t release_ns =
		__atomic_load_n(&snapshots->sampler->release_ns, __ATOMIC_ACQUIRE);
	if (!release_ns || !has_ended(snapshots, WNOHANG))
		return;
	if (!snapshots->next_ns)
		snapshots->next_ns = release_ns + every_ns;
	if (now < snapshots->next_ns)
		return;
	while (snapshots->next_ns <= now)
		snapshots->next_ns += every_ns;
	snapshots->n++;
	fflush(snapshots->run->log.stream); /* what is in it would be written twice */
	const pid_t child = fork();
	if (child == 0)
		save(snapshots, now);
	snapshots->n_failed += child < 0;
	snapshots->child = child < 0 ? 0 : child;
}

/* ---- from the beginning to the end ---- */

void run_snapshots_start(struct run_snapshots *snapshots, struct run *run, struct profile *profile,
			 struct sampler *sampler)
{
	*snapshots = (struct run_snapshots){.run = run, .profile = profile, .sampler = sampler};
	if (!(run->options->every_s > 0))
		return;
	if (!run->sampler_ops->snapshot) {
		run_log_warn(&run->log,
			     rf_error_create(RF_EUNAVAILABLE, NULL,
					     "snapshots need the sampler perf: there are none"));
		return;
	}
	sampler->look = look;
	sampler->look_context = snapshots;
}

void run_snapshots_end(struct run_snapshots *snapshots)
{
	(void)has_ended(snapshots, 0);
	if (snapshots->n_failed)
		run_log_warn(&snapshots->run->log,
			     rf_error_create(RF_EUNAVAILABLE, NULL,
					     "%u of %u snapshots could not be saved",
					     snapshots->n_failed, snapshots->n));
}
