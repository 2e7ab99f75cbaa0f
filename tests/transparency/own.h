/* What the programs of this directory share: they check what they see, say it, and end with done(). */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define UNUSED __attribute__((unused))
#define NOINLINE __attribute__((noinline))

enum { SKIPPED = 77, PAGE = 4096 };

static volatile int failures;

/* Says on standard error what does not hold (a few times), and goes on. */
#define CHECK(condition) \
	((condition) || __atomic_add_fetch(&failures, 1, __ATOMIC_SEQ_CST) > 5 \
		 ? (void)0 : (void)(dprintf(2, "%s:%d: not %s\n", __FILE_NAME__, __LINE__, #condition)))

/* Ends the program when it cannot go on. */
#define MUST(condition) \
	((condition) ? (void)0 \
		     : (dprintf(2, "%s:%d: not %s, errno %d\n", __FILE_NAME__, __LINE__, #condition, errno), \
			_exit(99)))

/* This machine or kernel has not what the program is about. */
UNUSED static void skip(const char *why)
{
	printf("%s\n", why);
	exit(SKIPPED);
}

/* The descriptors that are open, and the exit status. */
UNUSED static int done(void)
{
	printf("open:");
	for (int fd = 0; fd < 1024; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			printf(" %d", fd);
	printf("\nfailures: %d\n", failures);
	return failures != 0;
}

UNUSED static void handle(int number, void (*handler)(int, siginfo_t *, void *), int flags)
{
	struct sigaction action = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags };

	MUST(sigaction(number, &action, NULL) == 0);
}

/* How a child ended: its exit status, or 1000 and the number of its signal. */
UNUSED static int ended(pid_t pid)
{
	int status = -1;

	MUST(pid > 0);
	while (waitpid(pid, &status, __WALL) != pid)
		MUST(errno == EINTR);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

/* Some floating-point work whose result is known: 2 in the end. */
UNUSED NOINLINE static int work(int n)
{
	volatile double x = 1;

	for (int i = 0; i < n; i++)
		x = x * 0.5 + 1;
	return (int)(x + 0.5);
}

UNUSED static void *pages(size_t size, int protection)
{
	void *memory = mmap(NULL, size, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	MUST(memory != MAP_FAILED);
	return memory;
}
