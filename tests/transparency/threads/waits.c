/* Threads wait in calls that a stop would interrupt, while another computes for so long that its
 * code changes many times: no call is interrupted, and none ends early. */
#include "../own.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <time.h>

static atomic_int over;
static atomic_long calls;

static double now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec * 1e-9;
}

/* One kind of call that waits for 3 ms: 0, or errno. */
static int wait_in(int kind, int epoll, int semaphores, int queue)
{
	struct timespec time = {0, 3000000};
	struct epoll_event event;
	struct sembuf take = {0, -1, 0};
	sigset_t set;
	struct { long type; char text[8]; } message;

	switch (kind) {
	case 0:
		return epoll_wait(epoll, &event, 1, 3) == 0 ? 0 : errno;
	case 1:
		return semtimedop(semaphores, &take, 1, &time) < 0 && errno == EAGAIN ? 0 : errno;
	case 2:
		sigemptyset(&set);
		sigaddset(&set, SIGUSR2);
		return sigtimedwait(&set, NULL, &time) < 0 && errno == EAGAIN ? 0 : errno;
	case 3:
		return nanosleep(&time, NULL) == 0 ? 0 : errno;
	case 4:
		return poll(NULL, 0, 3) == 0 ? 0 : errno;
	default:
		usleep(3000);
		return msgrcv(queue, &message, sizeof(message.text), 0, IPC_NOWAIT) < 0 && errno == ENOMSG
			       ? 0
			       : errno;
	}
}

static void *waits(void *number)
{
	const int kind = (int)(long)number, epoll = epoll_create1(0), event = eventfd(0, 0);
	const int semaphores = semget(IPC_PRIVATE, 1, 0600), queue = msgget(IPC_PRIVATE, 0600);
	struct epoll_event wanted = {.events = EPOLLIN};

	epoll_ctl(epoll, EPOLL_CTL_ADD, event, &wanted);
	while (!over) {
		const double before = now();
		const int error = wait_in(kind, epoll, semaphores, queue);
		if (error) {
			printf("call %d: %s\n", kind, strerror(error));
			failures++;
		}
		if (now() - before < 0.0029) {
			printf("call %d ended early\n", kind);
			failures++;
		}
		calls++;
	}
	semctl(semaphores, 0, IPC_RMID);
	msgctl(queue, IPC_RMID, NULL);
	close(epoll);
	close(event);
	return NULL;
}

int main(void)
{
	pthread_t threads[6];
	const double start = now();

	for (long i = 0; i < 6; i++)
		pthread_create(&threads[i], NULL, waits, (void *)i);
	while (now() - start < 1.2)
		work(10000);
	over = 1;
	for (int i = 0; i < 6; i++)
		pthread_join(threads[i], NULL);
	CHECK(calls > 50);
	return done();
}
