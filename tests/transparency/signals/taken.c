/* Signals taken without a handler: sigwaitinfo, sigtimedwait, signalfd, with their values, in order.
 * @cases wait timeout descriptor order thread interrupts */
#include "../own.h"

#include <pthread.h>
#include <sys/signalfd.h>
#include <time.h>

static sigset_t set;

static void take(int number, int value)
{
	siginfo_t info = { 0 };

	CHECK(sigwaitinfo(&set, &info) == number && info.si_value.sival_int == value && info.si_code == SI_QUEUE);
	CHECK(info.si_pid == getpid());
}

static void *sends(void *unused)
{
	for (int i = 0; i < 50; i++)
		sigqueue(getpid(), SIGRTMIN, (union sigval){ .sival_int = i });
	return unused;
}

static void on_signal(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)info;
	(void)context;
}

int main(int argc, char **argv)
{
	const char *how = argv[argc - 1];
	const struct timespec soon = { 0, 5000000 };
	siginfo_t info = { 0 };
	pthread_t thread;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGRTMIN);
	sigaddset(&set, SIGRTMIN + 3);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	if (!strcmp(how, "timeout")) {
		for (int i = 0; i < 5; i++)
			CHECK(sigtimedwait(&set, &info, &soon) == -1 && errno == EAGAIN);
	} else if (!strcmp(how, "descriptor")) {
		struct signalfd_siginfo from = { 0 };
		int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);

		CHECK(read(fd, &from, sizeof(from)) == -1 && errno == EAGAIN);
		sigqueue(getpid(), SIGRTMIN + 3, (union sigval){ .sival_int = 99 });
		CHECK(read(fd, &from, sizeof(from)) == sizeof(from) && from.ssi_int == 99);
		CHECK(from.ssi_signo == (uint32_t)SIGRTMIN + 3 && from.ssi_pid == (uint32_t)getpid());
		close(fd);
	} else if (!strcmp(how, "order")) {
		sigqueue(getpid(), SIGRTMIN + 3, (union sigval){ .sival_int = 3 });
		for (int i = 0; i < 20; i++)
			sigqueue(getpid(), SIGRTMIN, (union sigval){ .sival_int = i });
		for (int i = 0; i < 20; i++)
			take(SIGRTMIN, i);
		take(SIGRTMIN + 3, 3);
	} else if (!strcmp(how, "interrupts")) {
		handle(SIGALRM, on_signal, 0);
		alarm(0);
		ualarm(5000, 0);
		CHECK(sigwaitinfo(&set, &info) == -1 && errno == EINTR);
	} else if (!strcmp(how, "thread")) {
		pthread_create(&thread, NULL, sends, NULL);
		for (int i = 0; i < 50; i++)
			take(SIGRTMIN, i);
		pthread_join(thread, NULL);
	} else {
		raise(SIGUSR1);
		CHECK(sigwaitinfo(&set, &info) == SIGUSR1 && info.si_code == SI_USER);
		kill(getpid(), SIGUSR1);
		CHECK(sigwaitinfo(&set, &info) == SIGUSR1 && info.si_code == SI_USER);
	}
	return done();
}
