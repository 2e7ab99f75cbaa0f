/* Starting the program as a child that waits, sending signals on to it, and ending as it ended. */
#include "tracer/launch/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static const int forwarded[] = {SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2};

static volatile sig_atomic_t forward_to, seen[NSIG];

/* ---- start ---- */

/* Each counted process takes descriptors of ours; the program keeps the limit of before. */
static void allow_descriptors(struct rlimit *before)
{
	struct rlimit raised;
	if (getrlimit(RLIMIT_NOFILE, before) < 0)
		*before = (struct rlimit){RLIM_INFINITY, RLIM_INFINITY};
	raised = *before;
	raised.rlim_cur = raised.rlim_max;
	setrlimit(RLIMIT_NOFILE, &raised);
}

static void child_process(const struct launch_spec *spec, const struct rlimit *descriptors,
			  int go_fd, int error_fd)
{
	char byte;
	while (read(go_fd, &byte, 1) < 0 && errno == EINTR)
		;
	if (descriptors->rlim_max != RLIM_INFINITY)
		setrlimit(RLIMIT_NOFILE, descriptors);
	stdio_plan_child(spec->plan);
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
	return ends[0] >= 0 && ends[1] >= 0;
}

struct rf_error *launch_start(const struct launch_spec *spec, struct launch *launch)
{
	static struct rlimit descriptors; /* as rfprof was started */
	int go[2], error[2];
	if (!descriptors.rlim_max)
		allow_descriptors(&descriptors);
	if (!high_pipe(go) || !high_pipe(error))
		return rf_error_errno(RF_EACCESS, errno,
				      "raise the limit of open files (ulimit -n)",
				      "cannot make a pipe");
	pid_t pid = fork();
	if (pid == 0) {
		close(go[1]);
		child_process(spec, &descriptors, go[0], error[1]);
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
	waitpid(launch->pid, NULL, __WALL);
	launch_release(launch);
	close(launch->error_fd);
}

/* ---- signals ---- */

static void on_signal(int number, siginfo_t *info, void *context)
{
	(void)context;
	seen[number] = 1;
	/* si_code > 0: from the kernel, that is from the terminal; the program has it already */
	if (forward_to && info->si_code <= 0)
		kill(forward_to, number);
}

void launch_forward_signals(pid_t pid)
{
	forward_to = pid;
	for (size_t i = 0; i < sizeof(forwarded) / sizeof(forwarded[0]); i++) {
		struct sigaction old, action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
		/* what is ignored (nohup) stays ignored, here and in the program */
		if (sigaction(forwarded[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			sigaction(forwarded[i], &action, NULL);
	}
}

bool launch_was_interrupted(int status)
{
	return seen[SIGINT] || seen[SIGTERM] || seen[SIGHUP] || seen[SIGQUIT] ||
	       (WIFSIGNALED(status) && seen[WTERMSIG(status)]);
}

void launch_end_like(int status)
{
	if (WIFSIGNALED(status)) {
		const struct rlimit none = {0, 0};
		sigset_t set;
		setrlimit(RLIMIT_CORE, &none);
		signal(WTERMSIG(status), SIG_DFL);
		sigemptyset(&set);
		sigaddset(&set, WTERMSIG(status));
		sigprocmask(SIG_UNBLOCK, &set, NULL);
		raise(WTERMSIG(status));
		_exit(128 + WTERMSIG(status));
	}
	exit(WEXITSTATUS(status));
}
