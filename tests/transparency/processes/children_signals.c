/* SIGCHLD: what it carries, and children that no one waits for.
 * @cases info ignored nocldwait nocldstop storm parent_dies */
#include "../own.h"

#include <sys/prctl.h>
#include <sys/wait.h>

static volatile int code, status, number_of, reaped;

static void on_child(int number, siginfo_t *info, void *context)
{
	(void)context;
	CHECK(number == SIGCHLD);
	code = info->si_code;
	status = info->si_status;
	number_of++;
}

static void reap(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)info;
	(void)context;
	while (waitpid(-1, NULL, WNOHANG) > 0)
		reaped++;
}

static pid_t child(int with)
{
	pid_t pid = fork();

	if (pid == 0) {
		if (with < 0)
			raise(-with);
		_exit(with);
	}
	return pid;
}

static void wait_for(volatile int *word, int n)
{
	for (int i = 0; i < 5000 && *word < n; i++)
		usleep(1000);
}

int main(int argc, char **argv)
{
	const char *how = argv[argc - 1];
	pid_t pid;

	if (!strcmp(how, "info")) {
		handle(SIGCHLD, on_child, SA_RESTART);
		CHECK(ended(child(9)) == 9);
		CHECK(code == CLD_EXITED && status == 9);
		CHECK(ended(child(-SIGKILL)) == 1000 + SIGKILL);
		CHECK(code == CLD_KILLED && status == SIGKILL && number_of == 2);
	} else if (!strcmp(how, "ignored")) {
		signal(SIGCHLD, SIG_IGN);
		child(3);
		CHECK(wait(NULL) == -1 && errno == ECHILD);
	} else if (!strcmp(how, "nocldwait")) {
		handle(SIGCHLD, on_child, SA_NOCLDWAIT | SA_RESTART);
		child(3);
		CHECK(wait(NULL) == -1 && errno == ECHILD);
		wait_for(&number_of, 1);
		CHECK(number_of == 1);
	} else if (!strcmp(how, "nocldstop")) {
		handle(SIGCHLD, on_child, SA_NOCLDSTOP | SA_RESTART);
		pid = child(-SIGSTOP);
		CHECK(waitpid(pid, NULL, WUNTRACED) == pid && number_of == 0);
		kill(pid, SIGCONT);
		ended(pid);
		CHECK(number_of == 1);
	} else if (!strcmp(how, "storm")) {
		handle(SIGCHLD, reap, SA_RESTART | SA_NOCLDSTOP);
		for (int i = 0; i < 30; i++)
			child(i);
		wait_for(&reaped, 30);
		printf("reaped %d\n", reaped);
	} else {
		pid = fork();
		if (pid == 0) {
			prctl(PR_SET_CHILD_SUBREAPER, 0);
			if (fork() == 0) {
				prctl(PR_SET_PDEATHSIG, SIGKILL);
				pause();
			}
			usleep(50000);
			_exit(1);
		}
		CHECK(ended(pid) == 1);
	}
	return done();
}
