/* Values that come with signals to handlers: queued in order, to a thread, with any code. */
#include "../own.h"

#include <pthread.h>

static volatile int sum, count, last = -1, ordered = 1, codes;

static void on_signal(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)context;
	ordered &= info->si_value.sival_int > last;
	last = info->si_value.sival_int;
	sum += info->si_value.sival_int;
	codes += info->si_code == SI_QUEUE;
	count++;
}

int main(void)
{
	siginfo_t info = { .si_code = -77, .si_value.sival_int = 1000 };
	sigset_t set;

	handle(SIGRTMIN + 1, on_signal, 0);
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN + 1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	for (int i = 0; i < 100; i++)
		CHECK(sigqueue(getpid(), SIGRTMIN + 1, (union sigval){ .sival_int = i }) == 0);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	printf("%d signals, sum %d, in order %d, %d queued\n", count, sum, ordered, codes);
	CHECK(pthread_sigqueue(pthread_self(), SIGRTMIN + 1, (union sigval){ .sival_int = 500 }) == 0);
	CHECK(syscall(SYS_rt_sigqueueinfo, getpid(), SIGRTMIN + 1, &info) == 0);
	printf("%d signals, sum %d, %d queued\n", count, sum, codes);
	return done();
}
