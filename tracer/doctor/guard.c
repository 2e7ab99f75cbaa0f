/* A probe in a child with a time limit: whatever becomes of it, rfprof goes on. */
#include "tracer/doctor/guard.h"

#include "base/clock.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Never returns.  The child ends with its parent and leaves no core dump. */
static void in_child(void (*fn)(void *context), void *context, pid_t parent)
{
	signal(SIGCHLD, SIG_DFL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setrlimit(RLIMIT_CORE, &(struct rlimit){0});
	if (getppid() != parent)
		_exit(1);
	fn(context);
	_exit(0);
}

/* Whether it has ended by then. */
static bool wait_until(pid_t pid, uint64_t deadline, int *status)
{
	useconds_t pause = 100;
	for (;;) {
		pid_t got = waitpid(pid, status, WNOHANG);
		if (got == pid)
			return true;
		if ((got < 0 && errno != EINTR) || clock_now_ns() >= deadline)
			return false;
		usleep(pause);
		pause = pause < 10000 ? pause * 2 : pause;
	}
}

struct doctor_ending guard_run(void (*fn)(void *context), void *context, unsigned limit_ms)
{
	const pid_t parent = getpid();
	int status = 0;
	signal(SIGCHLD, SIG_DFL); /* ignored, no status could be had */
	const pid_t pid = fork();
	if (pid == 0)
		in_child(fn, context, parent);
	if (pid < 0) {
		fn(context);
		return (struct doctor_ending){.how = PROBE_DONE};
	}
	if (!wait_until(pid, clock_now_ns() + limit_ms * 1000000ull, &status)) {
		kill(pid, SIGKILL);
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
		return (struct doctor_ending){.how = PROBE_LATE};
	}
	if (WIFSIGNALED(status))
		return (struct doctor_ending){PROBE_DIED, WTERMSIG(status)};
	return (struct doctor_ending){WEXITSTATUS(status) ? PROBE_DIED : PROBE_DONE, 0};
}
