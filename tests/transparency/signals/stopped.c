/* A stop of the whole process ends a call that waits, as natively. */
#include "../own.h"

#include <sys/epoll.h>
#include <time.h>

int main(void)
{
	const struct timespec pause = {0, 30000000};
	struct epoll_event event;
	const int epoll = epoll_create1(0);
	const pid_t parent = getpid(), child = fork();

	work(100000);
	if (!child) {
		nanosleep(&pause, NULL);
		kill(parent, SIGSTOP);
		nanosleep(&pause, NULL);
		kill(parent, SIGCONT);
		_exit(0);
	}
	const int result = epoll_wait(epoll, &event, 1, 1000);
	printf("the wait ends with %s\n", result < 0 ? strerror(errno) : "its time");
	CHECK(waitpid(child, NULL, 0) == child);
	close(epoll);
	return done();
}
