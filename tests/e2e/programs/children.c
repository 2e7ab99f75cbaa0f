/* Children by every way there is; they work, and end in ways that the parent checks. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static double work(int n)
{
	volatile double x = 1;

	for (int i = 0; i < n; i++)
		x = x * 0.5 + 1;
	return x;
}

static void ended(const char *what, pid_t pid)
{
	int status = -1;

	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		printf("%s: failed, errno %d\n", what, errno);
	else if (WIFEXITED(status))
		printf("%s: exit %d\n", what, WEXITSTATUS(status));
	else
		printf("%s: signal %d\n", what, WTERMSIG(status));
}

static void forks(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit((int)work(100000) + 5);
	ended("fork", pid);
	pid = fork();
	if (pid == 0)
		raise(SIGKILL);
	ended("killed", pid);
	pid = fork();
	if (pid == 0) {
		pid_t grandchild = fork();

		if (grandchild == 0)
			_exit((int)work(1000));
		ended("grandchild", grandchild);
		exit(9);
	}
	ended("fork of fork", pid);
}

static void execs(void)
{
	char *seq[] = { "seq", "3", NULL }, *nothing[] = { "/nonexistent", NULL };
	pid_t pid = fork();

	if (pid == 0) {
		execv("/usr/bin/seq", seq);
		_exit(127);
	}
	ended("fork and exec", pid);
	pid = vfork();
	if (pid == 0) {
		execv(nothing[0], nothing);
		execv("/usr/bin/seq", seq);
		_exit(127);
	}
	ended("vfork and exec", pid);
	pid = vfork();
	if (pid == 0)
		_exit(11);
	ended("vfork and exit", pid);
	errno = posix_spawn(&pid, "/usr/bin/seq", NULL, NULL, seq, environ);
	ended("posix_spawn", errno ? -1 : pid);
	printf("posix_spawn of nothing: %s\n",
	       strerror(posix_spawn(&pid, nothing[0], NULL, NULL, nothing, environ)));
}

static void shells(void)
{
	char line[64] = "";
	FILE *pipe = popen("expr 6 '*' 7; exit 3", "r");

	if (!pipe || !fgets(line, sizeof(line), pipe))
		printf("popen failed\n");
	printf("popen: %s", line);
	printf("pclose: %d\n", WEXITSTATUS(pclose(pipe)));
	printf("system: %d\n", WEXITSTATUS(system("exit 6")));
	printf("system, killed: %d\n", WTERMSIG(system("kill -9 $$")));
}

static void *fork_in_thread(void *unused)
{
	pid_t pid = fork();

	(void)unused;
	if (pid == 0)
		_exit((int)work(1000) + 20);
	ended("fork in a thread", pid);
	return NULL;
}

static int clone_child(void *argument)
{
	work(1000);
	*(int *)argument = 5;
	return 13;
}

static void clones(void)
{
	static char stack[65536] __attribute__((aligned(16)));
	int value = 0;

	ended("clone", clone(clone_child, stack + sizeof(stack), SIGCHLD, &value));
	printf("own memory: %d\n", value);
	ended("clone with CLONE_VM", clone(clone_child, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, &value));
	printf("shared memory: %d\n", value);
}

/* Parent and child pass a number to and fro through pipes. */
static void ping_pong(void)
{
	int down[2], up[2], number = 0;

	if (pipe(down) || pipe(up))
		exit(1);
	pid_t pid = fork();

	if (pid == 0) {
		close(down[1]);
		while (read(down[0], &number, sizeof(number)) == sizeof(number)) {
			number++;
			if (write(up[1], &number, sizeof(number)) < 0)
				_exit(1);
		}
		_exit(0);
	}
	for (int i = 0; i < 100; i++)
		if (write(down[1], &number, sizeof(number)) < 0 || read(up[0], &number, sizeof(number)) < 0)
			exit(1);
	close(down[1]);
	ended("ping pong", pid);
	printf("number %d\n", number);
}

int main(void)
{
	pthread_t thread;

	setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
	setvbuf(stdout, NULL, _IONBF, 0);
	forks();
	execs();
	shells();
	pthread_create(&thread, NULL, fork_in_thread, NULL);
	pthread_join(thread, NULL);
	clones();
	ping_pong();
	for (int i = 0; i < 30; i++) {
		pid_t pid = fork();

		if (pid == 0)
			_exit(i);
		waitpid(pid, NULL, 0);
	}
	printf("work %g\n", work(100));
	return 0;
}
