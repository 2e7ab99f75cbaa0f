/* Signals that are ignored, by default or on demand, interrupt no call, and calls that wait for a time end all the same
 * however many come. */
#include "../own.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/sem.h>
#include <time.h>

enum { KINDS = 4 };

static atomic_int over;
static atomic_long finished[KINDS];

static double now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec * 1e-9;
}

/* Waits for 20 ms: 0, or errno. */
static int wait_in(int kind, int epoll, int semaphores)
{
	const struct timespec time = {0, 20000000};
	struct epoll_event event;
	struct sembuf take = {0, -1, 0};
	sigset_t set;

	sigemptyset(&set);
	switch (kind) {
	case 0:
		return epoll_wait(epoll, &event, 1, 20) == 0 ? 0 : errno;
	case 1:
		return epoll_pwait(epoll, &event, 1, 20, &set) == 0 ? 0 : errno;
	case 2:
		return syscall(SYS_semtimedop, semaphores, &take, 1, &time) < 0 && errno == EAGAIN ? 0 : errno;
	default:
		sigaddset(&set, SIGUSR2);
		return sigtimedwait(&set, NULL, &time) < 0 && errno == EAGAIN ? 0 : errno;
	}
}

static void *waits(void *number)
{
	const int kind = (int)(long)number, epoll = epoll_create1(0), semaphores = semget(IPC_PRIVATE, 1, 0600);

	while (!over) {
		const double before = now();
		const int error = wait_in(kind, epoll, semaphores);
		if (error)
			printf("call %d ends with %s\n", kind, strerror(error));
		CHECK(!error);
		CHECK(now() - before >= 0.0199);
		finished[kind]++;
	}
	semctl(semaphores, 0, IPC_RMID);
	close(epoll);
	return NULL;
}

static void disturb(pthread_t *threads)
{
	static const int ignored[] = {SIGCHLD, SIGURG, SIGWINCH, SIGCONT, SIGUSR1};
	const struct timespec pause = {0, 1000000};

	for (int i = 0; i < 300; i++) {
		work(1000);
		for (int kind = 0; kind < KINDS; kind++)
			pthread_kill(threads[kind], ignored[i % 5]);
		nanosleep(&pause, NULL);
		if (i % 10)
			continue;
		const pid_t child = fork();
		if (!child)
			_exit(0);
		CHECK(waitpid(child, NULL, 0) == child);
	}
}

/* The child's end comes amid a call of the only thread. */
static void wait_beside_child(void)
{
	const struct timespec pause = {0, 2000000};
	struct epoll_event event;
	const pid_t child = fork();

	if (!child) {
		nanosleep(&pause, NULL);
		_exit(0);
	}
	const int epoll = epoll_create1(0);
	CHECK(epoll_wait(epoll, &event, 1, 50) == 0);
	CHECK(waitpid(child, NULL, 0) == child);
	close(epoll);
}

int main(void)
{
	pthread_t threads[KINDS];

	signal(SIGUSR1, SIG_IGN);
	for (long kind = 0; kind < KINDS; kind++)
		pthread_create(&threads[kind], NULL, waits, (void *)kind);
	disturb(threads);
	for (int kind = 0; kind < KINDS; kind++)
		CHECK(finished[kind] >= 3);
	over = 1;
	for (int kind = 0; kind < KINDS; kind++)
		pthread_join(threads[kind], NULL);
	wait_beside_child();
	return done();
}
