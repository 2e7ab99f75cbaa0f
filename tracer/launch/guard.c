/* A function in a child with a time limit: whatever becomes of it, rfprof goes on. */
#include "tracer/launch/guard.h"

#include "base/clock.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Never returns.  The child ends with its parent and leaves no core dump. */
static void in_child(void (*fn)(void *context), void *context, pid_t parent)
{
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

static struct guard_ending follow(pid_t pid, unsigned limit_ms)
{
	int status = 0;
	if (!wait_until(pid, clock_now_ns() + limit_ms * 1000000ull, &status)) {
		kill(pid, SIGKILL);
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
		return (struct guard_ending){.how = GUARD_LATE};
	}
	if (WIFSIGNALED(status))
		return (struct guard_ending){GUARD_DIED, WTERMSIG(status)};
	return (struct guard_ending){WEXITSTATUS(status) ? GUARD_DIED : GUARD_DONE, 0};
}

struct guard_ending guard_run(void (*fn)(void *context), void *context, unsigned limit_ms)
{
	const pid_t parent = getpid();
	/* ignored, no status could be had; programs are started with what is handed down */
	void (*const handed_down)(int) = signal(SIGCHLD, SIG_DFL);
	const pid_t pid = fork();
	if (pid == 0)
		in_child(fn, context, parent);
	const struct guard_ending ending =
		pid < 0 ? (struct guard_ending){.how = GUARD_NO_PROCESS} : follow(pid, limit_ms);
	signal(SIGCHLD, handed_down);
	return ending;
}
