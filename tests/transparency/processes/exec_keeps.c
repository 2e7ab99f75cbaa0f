/* What stays through an exec: number, directory, mask, ignored and pending signals, descriptors
 * without close-on-exec, an alarm; and what does not: handlers, close-on-exec. */
#include "../own.h"

#include <sys/time.h>

static void on_signal(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)info;
	(void)context;
}

static void look(pid_t former)
{
	sigset_t set, pending;
	struct sigaction now;
	struct itimerval left;
	char where[4096];

	CHECK(getpid() == former);
	sigprocmask(SIG_BLOCK, NULL, &set);
	sigpending(&pending);
	CHECK(sigismember(&set, SIGUSR1) && !sigismember(&set, SIGUSR2));
	CHECK(sigismember(&pending, SIGUSR1));
	sigaction(SIGUSR2, NULL, &now);
	CHECK(now.sa_handler == SIG_DFL);
	sigaction(SIGHUP, NULL, &now);
	CHECK(now.sa_handler == SIG_IGN);
	getitimer(ITIMER_REAL, &left);
	CHECK(left.it_value.tv_sec >= 90);
	CHECK(getcwd(where, sizeof(where)) && strstr(where, "/below"));
}

int main(int argc, char **argv)
{
	char number[16];
	sigset_t set;

	if (argc > 1) {
		look(atoi(argv[1]));
		return done();
	}
	MUST(system("mkdir -p below") == 0 && chdir("below") == 0);
	handle(SIGUSR2, on_signal, 0);
	signal(SIGHUP, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	raise(SIGUSR1);
	setitimer(ITIMER_REAL, &(struct itimerval){ { 0, 0 }, { 100, 0 } }, NULL);
	MUST(open("/dev/null", O_RDONLY) == 3 && open("/dev/null", O_RDONLY | O_CLOEXEC) == 4);
	snprintf(number, sizeof(number), "%d", getpid());
	execl("/proc/self/exe", "looker", number, (char *)NULL);
	return 1;
}
