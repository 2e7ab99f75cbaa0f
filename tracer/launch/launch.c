/* Starting the program as a child that waits, sending signals on to it, and ending as it ended. */
#include "tracer/launch/launch.h"

#include "base/crash.h"
#include "base/raw_signal.h"
#include "base/thread.h"
#include "tracer/launch/limits.h"
#include "tracer/launch/sender.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t forward_to, seen[NSIG], ignored[NSIG], continued;

/* ---- start ---- */

static void child_process(const struct launch_spec *spec, int go_fd, int error_fd)
{
	char byte;
	if (spec->is_traced)
		prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY); /* of Yama; elsewhere an error */
	while (read(go_fd, &byte, 1) < 0 && errno == EINTR)
		;
	if (spec->is_traced)
		prctl(PR_SET_PTRACER, 0);
	limits_give_back();
	if (stdio_plan_child(spec->plan))
		execve(spec->path, spec->argv, spec->envp);
	int error = errno;
	(void)!write(error_fd, &error, sizeof(error));
	_exit(127);
}

/* A pipe whose ends stay clear of 0, 1 and 2: those may be closed on purpose. */
static bool high_pipe(int ends[2])
{
	int low[2];
	if (pipe2(low, O_CLOEXEC) < 0)
		return false;
	ends[0] = fcntl(low[0], F_DUPFD_CLOEXEC, 10);
	ends[1] = fcntl(low[1], F_DUPFD_CLOEXEC, 10);
	close(low[0]);
	close(low[1]);
	if (errno == EINVAL) /* the limit is below 10 */
		errno = EMFILE;
	return ends[0] >= 0 && ends[1] >= 0;
}

struct rf_error *launch_start(const struct launch_spec *spec, struct launch *launch)
{
	int go[2], error[2];
	if (!high_pipe(go) || !high_pipe(error))
		return rf_error_errno(RF_EACCESS, errno,
				      "raise the limit of open files (ulimit -n)",
				      "cannot make a pipe");
	pid_t pid = fork();
	if (pid == 0) {
		close(go[1]);
		child_process(spec, go[0], error[1]);
	}
	int cause = errno;
	close(go[0]);
	close(error[1]);
	*launch = (struct launch){pid, go[1], error[0]};
	if (pid > 0)
		return NULL;
	close(go[1]);
	close(error[0]);
	return rf_error_errno(RF_EACCESS, cause, "raise the limit of processes (ulimit -u)",
			      "cannot start a process");
}

void launch_release(struct launch *launch)
{
	close(launch->go_fd);
	launch->go_fd = -1;
}

int launch_exec_errno(struct launch *launch)
{
	int error = 0;
	fcntl(launch->error_fd, F_SETFL, O_NONBLOCK);
	if (read(launch->error_fd, &error, sizeof(error)) != sizeof(error))
		error = 0;
	close(launch->error_fd);
	launch->error_fd = -1;
	return error;
}

void launch_abort(struct launch *launch)
{
	kill(launch->pid, SIGKILL);
	while (waitpid(launch->pid, NULL, __WALL) < 0 && errno == EINTR)
		;
	launch_release(launch);
	close(launch->error_fd);
}

/* ---- signals ---- */

/* What becomes of a signal that comes to this process. */
enum fate {
	TAKEN, /* as without rfprof: it does nothing, or is a fault of ours, or cannot be caught */
	FORWARDED, /* from outside: sent on to the program */
	STOPS,     /* stops this process where the program is stopped as well */
	ENDS,      /* from outside: ends this process, by default */
};

static enum fate fate_of(int number)
{
	switch (number) {
	case SIGTERM:
	case SIGHUP:
	case SIGINT:
	case SIGQUIT:
	case SIGUSR1:
	case SIGUSR2:
		return FORWARDED;
	case SIGTSTP:
	case SIGTTIN:
	case SIGTTOU:
		return STOPS;
	case SIGCHLD:
	case SIGCONT:
	case SIGURG:
	case SIGWINCH:
	case SIGKILL:
	case SIGSTOP:
		return TAKEN;
	default:
		return crash_catches(number) ? TAKEN : ENDS;
	}
}

static bool ignores(int number, const siginfo_t *info)
{
	if (!sender_is_watched(info))
		return false;
	ignored[number] = 1;
	return true;
}

static void forward(int number, const siginfo_t *info)
{
	seen[number] = 1;
	/* si_code > 0: from the kernel, that is from the terminal; the program has it already */
	if (forward_to && info->si_code <= 0)
		kill(forward_to, number);
}

static void on_signal(int number, siginfo_t *info, void *context)
{
	const int error = errno;
	const enum fate fate = fate_of(number);
	(void)context;
	if (fate == STOPS && sender_stops(forward_to, number))
		raw_signal_take(number);
	else if (ignores(number, info))
		;
	else if (fate == FORWARDED)
		forward(number, info);
	else
		raw_signal_take(number);
	errno = error;
}

static void on_continue(int number)
{
	(void)number;
	continued = 1;
}

void launch_forward_signals(pid_t pid)
{
	const struct sigaction note = {.sa_handler = on_continue, .sa_flags = SA_RESTART};
	struct sigaction old,
		action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART};
	/* one at a time: there may be many, and the stack for signal handlers is small */
	sigfillset(&action.sa_mask);
	for (const int *fault = thread_faults; *fault; fault++)
		sigdelset(&action.sa_mask, *fault);
	crash_set_ignored(ignores);
	forward_to = pid;
	if (pid)
		continued = 0;
	sigaction(SIGCONT, &note, NULL);
	for (int number = 1; number <= SIGRTMAX; number++) {
		/* what is ignored (nohup) stays ignored, here and in the program */
		if (raw_signal_is_kept(number))
			raw_signal_catch(number, on_signal);
		else if (fate_of(number) != TAKEN && sigaction(number, NULL, &old) == 0 &&
			 old.sa_handler != SIG_IGN)
			sigaction(number, &action, NULL);
	}
}

bool launch_was_continued(void)
{
	return continued;
}

bool launch_was_interrupted(int status)
{
	return seen[SIGINT] || seen[SIGTERM] || seen[SIGHUP] || seen[SIGQUIT] ||
	       (WIFSIGNALED(status) && seen[WTERMSIG(status)]);
}

int launch_forget_interruption(void)
{
	static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	int first = 0;
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		first = !first && seen[ends[i]] ? ends[i] : first;
	for (int number = 0; number < NSIG; number++)
		seen[number] = 0;
	return first;
}

bool launch_ignored_signals(char *names, size_t size)
{
	size_t used = 0;
	names[0] = '\0';
	for (int number = 1; number <= SIGRTMAX; number++) {
		const char *name = sigabbrev_np(number);
		if (!ignored[number] || used >= size)
			continue;
		const char *comma = used ? ", " : "";
		if (name)
			used += (size_t)snprintf(names + used, size - used, "%sSIG%s", comma, name);
		else
			used += (size_t)snprintf(names + used, size - used, "%sSIGRTMIN%+d", comma,
						 number - SIGRTMIN);
	}
	return used > 0;
}

void launch_end_like(int status)
{
	if (WIFSIGNALED(status)) {
		const struct rlimit none = {0, 0};
		setrlimit(RLIMIT_CORE, &none);
		raw_signal_take(WTERMSIG(status));
		_exit(128 + WTERMSIG(status));
	}
	exit(WEXITSTATUS(status));
}
