/* Masks: in handlers, after them, of threads, pending signals over fork, waiting with another mask.
 * @cases handler suspend pending threads */
#include "../own.h"

#include <poll.h>
#include <pthread.h>
#include <sys/select.h>

static volatile int seen, in_handler;

static int blocked(int number)
{
	sigset_t set;

	pthread_sigmask(SIG_BLOCK, NULL, &set);
	return sigismember(&set, number);
}

static void on_signal(int number, siginfo_t *info, void *context)
{
	sigset_t set;

	(void)info;
	(void)context;
	seen++;
	in_handler = blocked(number) * 100 + blocked(SIGUSR2) * 10 + blocked(SIGTERM);
	sigemptyset(&set);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);	/* only until the handler returns */
}

static void suspends(void)
{
	sigset_t set, empty;

	sigemptyset(&empty);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	for (int i = 0; i < 50; i++) {
		int error;

		raise(SIGUSR1);
		CHECK(seen == i);
		if (i % 3 == 0)
			error = sigsuspend(&empty);
		else if (i % 3 == 1)
			error = ppoll(NULL, 0, NULL, &empty);
		else
			error = pselect(0, NULL, NULL, NULL, NULL, &empty);
		CHECK(error == -1 && errno == EINTR && seen == i + 1 && blocked(SIGUSR1));
	}
}

static void pending(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	raise(SIGUSR1);
	pid_t pid = fork();

	if (pid == 0) {		/* pending signals are not inherited, the mask is */
		sigpending(&set);
		_exit(sigismember(&set, SIGUSR1) * 2 + blocked(SIGUSR1));
	}
	CHECK(ended(pid) == 1);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	CHECK(seen == 1);
}

static void *takes(void *set)
{
	pthread_sigmask(SIG_UNBLOCK, set, NULL);
	while (!seen)
		usleep(200);
	return NULL;
}

static void threads(void)
{
	pthread_t thread;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	pthread_create(&thread, NULL, takes, &set);
	kill(getpid(), SIGUSR1);	/* only the thread can take it */
	pthread_join(thread, NULL);
	CHECK(seen == 1);
}

int main(int argc, char **argv)
{
	const char *how = argv[argc - 1];
	struct sigaction action = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };

	sigaddset(&action.sa_mask, SIGUSR2);
	sigaction(SIGUSR1, &action, NULL);
	if (!strcmp(how, "handler")) {
		raise(SIGUSR1);
		printf("in handler %d, after %d %d\n", in_handler, blocked(SIGUSR1), blocked(SIGHUP));
	} else if (!strcmp(how, "suspend")) {
		suspends();
	} else if (!strcmp(how, "pending")) {
		pending();
	} else {
		threads();
	}
	return done();
}
