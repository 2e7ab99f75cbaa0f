/* A program that traces: its own child, step by step, by system call, by fault; one that attaches.
 * @cases traceme steps syscalls peek attach seize several memory thread
 * @partly trace */
#include "../own.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>

static volatile int word = 5;

static pid_t traced(int ends_with)
{
	pid_t pid = fork();

	if (pid == 0) {
		if (ptrace(PTRACE_TRACEME, 0, 0, 0) != 0)
			_exit(90);
		raise(SIGSTOP);
		_exit(word == 5 ? ends_with : word);
	}
	return pid;
}

/* Resumes by `request` until the child has ended; how often it stopped, at most. */
static int follow(pid_t pid, int request, int *status)
{
	int stops = 0;

	while (waitpid(pid, status, 0) == pid && WIFSTOPPED(*status) && stops++ < 20000)
		ptrace(request, pid, 0, 0);
	return stops;
}

static pid_t pauses(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		for (;;)
			pause();
	}
	return pid;
}

/* Attaches to a process that pauses, and lets it go. */
static void *attaches(void *unused)
{
	const pid_t pid = pauses();
	int status = 0;

	usleep(20000);
	CHECK(ptrace(PTRACE_ATTACH, pid, 0, 0) == 0);
	CHECK(failures || (waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status)));
	CHECK(ptrace(PTRACE_DETACH, pid, 0, 0) == 0);
	kill(pid, SIGKILL);
	CHECK(ended(pid) == 1000 + SIGKILL);
	return unused;
}

/* Two threads attach, of which one may have been there before the process traced anything. */
static void in_threads(void)
{
	pthread_t thread;

	CHECK(pthread_create(&thread, NULL, attaches, NULL) == 0);
	pthread_join(thread, NULL);
	attaches(NULL);
	CHECK(pthread_create(&thread, NULL, attaches, NULL) == 0);
	pthread_join(thread, NULL);
}

/* Writes into a process by its file of memory, then attaches to another. */
static void by_memory(void)
{
	const pid_t pid = pauses();
	char path[64];
	int value = 9;

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	const int fd = open(path, O_RDWR);
	CHECK(fd >= 0 && pwrite(fd, &value, sizeof(value), (off_t)(uintptr_t)&word) == sizeof(value));
	close(fd);
	attaches(NULL);
	kill(pid, SIGKILL);
	CHECK(ended(pid) == 1000 + SIGKILL);
}

int main(int argc, char **argv)
{
	const char *how = argv[argc - 1];
	int status = 0;
	pid_t pid;

	if (!strcmp(how, "attach") || !strcmp(how, "seize")) {
		pid = pauses();
		CHECK(ptrace(!strcmp(how, "attach") ? PTRACE_ATTACH : PTRACE_SEIZE, pid, 0, 0) == 0);
		if (!strcmp(how, "seize"))
			CHECK(ptrace(PTRACE_INTERRUPT, pid, 0, 0) == 0);
		CHECK(failures || (waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status)));
		CHECK(ptrace(PTRACE_DETACH, pid, 0, 0) == 0);
		kill(pid, SIGKILL);
		CHECK(ended(pid) == 1000 + SIGKILL);
		return done();
	}
	if (!strcmp(how, "memory") || !strcmp(how, "thread")) {
		(!strcmp(how, "memory") ? by_memory : in_threads)();
		return done();
	}
	if (!strcmp(how, "several")) {
		pid_t pids[3];

		for (int i = 0; i < 3; i++)
			pids[i] = pauses();
		usleep(20000);
		for (int i = 0; i < 3; i++) {
			CHECK(ptrace(i == 1 ? PTRACE_SEIZE : PTRACE_ATTACH, pids[i], 0, 0) == 0);
			CHECK(i != 1 || ptrace(PTRACE_INTERRUPT, pids[i], 0, 0) == 0);
			CHECK(failures || (waitpid(pids[i], &status, __WALL) == pids[i] && WIFSTOPPED(status)));
		}
		for (int i = 0; i < 3; i++) {
			CHECK(ptrace(PTRACE_DETACH, pids[i], 0, 0) == 0);
			kill(pids[i], SIGKILL);
			CHECK(ended(pids[i]) == 1000 + SIGKILL);
		}
		return done();
	}
	pid = traced(7);
	if (!strcmp(how, "peek")) {
		CHECK(waitpid(pid, &status, 0) == pid && WIFSTOPPED(status));
		CHECK((int)ptrace(PTRACE_PEEKDATA, pid, &word, 0) == 5);
		CHECK(ptrace(PTRACE_POKEDATA, pid, &word, 9) == 0);
		ptrace(PTRACE_CONT, pid, 0, 0);
		CHECK(ended(pid) == 9);
		return done();
	}
	int stops = follow(pid, !strcmp(how, "steps")	 ? PTRACE_SINGLESTEP :
				!strcmp(how, "syscalls") ? PTRACE_SYSCALL :
							   PTRACE_CONT, &status);

	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
	printf("%s\n", stops == 1 ? "one stop" : stops < 10 ? "some stops" : "many stops");
	return done();
}
