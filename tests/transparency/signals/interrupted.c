/* System calls that a signal interrupts: which go on, which fail, with and without SA_RESTART.
 * @cases read wait sleep poll futex semaphore write accept */
#include "../own.h"

#include <linux/futex.h>
#include <poll.h>
#include <semaphore.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>

static volatile int ticks;
static int ends[2], word;
static sem_t semaphore;

static void on_alarm(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)info;
	(void)context;
	ticks++;
}

static pid_t later(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		usleep(200000);
		_exit(write(ends[1], "x", 1) == 1 ? 4 : 5);
	}
	return pid;
}

static long interrupt(const char *how)
{
	struct timespec time = { 0, 400000000 }, left = { 9, 0 };
	char byte = 0;
	static char room[1 << 17];

	if (!strcmp(how, "read")) {
		pid_t pid = later();
		long n = read(ends[0], &byte, 1);
		int error = errno;

		ended(pid);
		errno = error;
		return n;
	}
	if (!strcmp(how, "wait")) {
		pid_t pid = later();
		int status = 0;
		long n = waitpid(pid, &status, 0) == pid ? WEXITSTATUS(status) : -1;
		int error = errno;

		if (n < 0)
			ended(pid);
		errno = error;
		return n;
	}
	if (!strcmp(how, "sleep"))
		return nanosleep(&time, &left) < 0 && left.tv_sec == 0 && left.tv_nsec > 0 ? -1 : 0;
	if (!strcmp(how, "poll"))
		return poll(&(struct pollfd){ ends[0], POLLIN, 0 }, 1, 400);
	if (!strcmp(how, "futex"))
		return syscall(SYS_futex, &word, FUTEX_WAIT, 0, &time);
	if (!strcmp(how, "semaphore")) {
		clock_gettime(CLOCK_REALTIME, &time);
		time.tv_nsec += 400000000;
		time.tv_sec += time.tv_nsec / 1000000000;
		time.tv_nsec %= 1000000000;
		return sem_timedwait(&semaphore, &time);
	}
	if (!strcmp(how, "write"))	/* fills the pipe, and then stops half-way */
		return write(ends[1], room, sizeof(room));
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	bind(fd, (struct sockaddr *)&(struct sockaddr_un){ AF_UNIX, "" }, 2);
	listen(fd, 1);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &(struct timeval){ 0, 400000 }, sizeof(struct timeval));
	long n = accept(fd, NULL, NULL);
	int error = errno;

	close(fd);
	errno = error;
	return n;
}

int main(int argc, char **argv)
{
	const struct itimerval soon = { { 0, 0 }, { 0, 60000 } };
	const char *how = argv[argc - 1];

	for (int restart = 0; restart < (strcmp(how, "write") ? 2 : 1); restart++) {
		MUST(pipe(ends) == 0);
		handle(SIGALRM, on_alarm, restart ? SA_RESTART : 0);
		setitimer(ITIMER_REAL, &soon, NULL);
		errno = 0;
		long n = interrupt(how);

		printf("%s: %ld %s\n", restart ? "restart" : "no restart", n, n < 0 ? strerrorname_np(errno) : "");
		close(ends[0]);
		close(ends[1]);
	}
	printf("ticks %d\n", ticks);
	return done();
}
