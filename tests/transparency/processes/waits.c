/* Waiting for children in every way.
 * @cases usage nowait group stopped nohang pidfd */
#include "../own.h"

#include <sys/resource.h>
#include <sys/wait.h>

static pid_t child(int status)
{
	pid_t pid = fork();

	if (pid == 0) {
		work(20000);
		_exit(status);
	}
	return pid;
}

static void usage(void)
{
	struct rusage before, after, of_child = { 0 };
	int status = 0;

	getrusage(RUSAGE_CHILDREN, &before);
	pid_t pid = child(7);

	CHECK(wait4(pid, &status, 0, &of_child) == pid && WEXITSTATUS(status) == 7);
	getrusage(RUSAGE_CHILDREN, &after);
	CHECK(of_child.ru_maxrss > 0 && after.ru_minflt > before.ru_minflt);
}

static void nowait(void)
{
	siginfo_t info = { 0 };
	pid_t pid = child(8);

	for (int i = 0; i < 3; i++)
		CHECK(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) == 0 && info.si_status == 8);
	CHECK(waitid(P_PID, (id_t)pid, &info, WEXITED) == 0 && info.si_code == CLD_EXITED);
	CHECK(waitid(P_PID, (id_t)pid, &info, WEXITED) == -1 && errno == ECHILD);
}

static void group(void)
{
	int sum = 0, status;
	pid_t leader = 0;

	for (int i = 1; i <= 3; i++) {
		pid_t pid = child(i);

		leader = leader ? leader : pid;
		setpgid(pid, leader);
	}
	pid_t other = child(10);

	while (waitpid(-leader, &status, 0) > 0)
		sum += WEXITSTATUS(status);
	printf("group %d\n", sum);
	CHECK(ended(other) == 10);
}

/* Stops, is seen to have, goes on, is seen to have. */
static void stopped(void)
{
	int status = 0, ends[2];
	char byte = 'x';

	MUST(pipe(ends) == 0);
	pid_t pid = fork();

	if (pid == 0) {
		for (int i = 0; i < 3; i++) {
			raise(SIGSTOP);
			MUST(read(ends[0], &byte, 1) == 1);
		}
		_exit(6);
	}
	for (int i = 0; i < 3; i++) {
		CHECK(waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
		kill(pid, SIGCONT);
		CHECK(waitpid(pid, &status, WCONTINUED) == pid && WIFCONTINUED(status));
		CHECK(write(ends[1], &byte, 1) == 1);
	}
	CHECK(ended(pid) == 6);
	close(ends[0]);
	close(ends[1]);
}

static void nohang(void)
{
	int ends[2], status = 0;
	char byte;

	MUST(pipe(ends) == 0);
	pid_t pid = fork();

	if (pid == 0)
		_exit(read(ends[0], &byte, 1) == 1 ? 3 : 4);
	CHECK(waitpid(pid, &status, WNOHANG) == 0);
	CHECK(write(ends[1], "x", 1) == 1);
	while (waitpid(pid, &status, WNOHANG) == 0)
		usleep(500);
	CHECK(WEXITSTATUS(status) == 3);
	close(ends[0]);
	close(ends[1]);
}

static void by_pidfd(void)
{
	siginfo_t info = { 0 };
	pid_t pid = fork();

	if (pid == 0) {
		pause();
		_exit(1);
	}
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	MUST(fd >= 0);
	CHECK(syscall(SYS_pidfd_send_signal, fd, SIGTERM, NULL, 0) == 0);
	CHECK(waitid(P_PIDFD, (id_t)fd, &info, WEXITED) == 0 && info.si_code == CLD_KILLED && info.si_status == SIGTERM);
	close(fd);
}

int main(int argc, char **argv)
{
	const char *names[] = { "usage", "nowait", "group", "stopped", "nohang", "pidfd" };
	void (*const parts[])(void) = { usage, nowait, group, stopped, nohang, by_pidfd };

	for (int i = 0; i < 6; i++)
		if (!strcmp(argv[argc - 1], names[i]))
			parts[i]();
	return done();
}
