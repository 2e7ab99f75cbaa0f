/* Each signal's default action, as its parent sees it: death, stop, or nothing. */
#include "../own.h"

#include <sys/wait.h>

static void one(int number, int by)
{
	siginfo_t info = { 0 };
	pid_t pid = fork();

	if (pid == 0) {
		sigset_t all;

		signal(number, SIG_DFL);
		sigfillset(&all);
		sigprocmask(SIG_UNBLOCK, &all, NULL);
		if (by == 0)
			raise(number);
		else if (by == 1)
			kill(getpid(), number);
		_exit(100);
	}
	CHECK(waitid(P_PID, (id_t)pid, &info, WEXITED | WSTOPPED) == 0);
	printf("%d: code %d status %d\n", number, info.si_code, info.si_status);
	if (info.si_code == CLD_STOPPED) {
		kill(pid, SIGKILL);
		ended(pid);
	}
}

int main(void)
{
	for (int number = 1; number <= SIGRTMIN + 2; number++)
		if (number != 32 && number != 33)
			one(number, number % 2);
	return done();
}
