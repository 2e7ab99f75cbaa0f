/* Steps for the end of rfprof in the midst of a run.  They are done by a signal handler: only
 * async-signal-safe calls. */
#include "tracer/run/run_crash.h"

#include "base/crash.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { NO_STATUS = -1 };

static struct {
	struct launch *launch;
	const struct stdio_plan *plan;
	int *status;
} watched;

static void rest(void)
{
	nanosleep(&(const struct timespec){.tv_nsec = 10000000}, NULL);
}

/* The main thread may wait for the program, too, and be first: then it leaves the status. */
static int wait_for_program(void)
{
	int status;
	while (waitpid(watched.launch->pid, &status, 0) < 0)
		if (errno == ECHILD) {
			while ((status = __atomic_load_n(watched.status, __ATOMIC_ACQUIRE)) ==
			       NO_STATUS)
				rest();
			break;
		}
	return status;
}

static void pass_on(void *context)
{
	(void)context;
	if (watched.launch->go_fd >= 0)
		close(watched.launch->go_fd); /* it still waits to be released */
	const int status = wait_for_program();
	while (!stdio_plan_is_drained(watched.plan))
		rest();
	if (WIFSIGNALED(status))
		launch_end_like(status);
	_exit(WEXITSTATUS(status));
}

static void end_program(void *context)
{
	(void)context;
	kill(watched.launch->pid, SIGKILL);
}

void run_crash_ends_program(struct launch *launch)
{
	watched.launch = launch;
	crash_set_last("the program is ended, as it cannot go on without rfprof", end_program,
		       NULL);
}

void run_crash_keeps_program(struct launch *launch, const struct stdio_plan *plan, int *status)
{
	*status = NO_STATUS;
	watched.plan = plan;
	watched.status = status;
	watched.launch = launch;
	crash_set_last("the program goes on, without being profiled; there will be no profile",
		       pass_on, NULL);
}

void run_crash_done(void)
{
	crash_set_last(NULL, NULL, NULL);
}
