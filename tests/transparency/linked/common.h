/* What the programs of this folder do, however they are linked: threads, thread-local storage, a handled
 * fault, a child, work, functions of the C library behind ifuncs. */
#include "../own.h"

#include <pthread.h>
#include <setjmp.h>
#include <time.h>

static __thread int local = 3;
static sigjmp_buf back;

static void *runs(void *argument)
{
	local += (int)(intptr_t)argument;
	return (void *)(intptr_t)(local + work(100));
}

static void faults(int number, siginfo_t *info, void *context)
{
	(void)context;
	CHECK(number == SIGSEGV && info->si_addr == (void *)16);
	siglongjmp(back, 1);
}

int main(int argc, char **argv)
{
	char copy[300], text[300];
	struct timespec now;
	pthread_t threads[4];
	void *result;

	(void)argv;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = 0;
	strcpy(copy, text);
	CHECK(strlen(copy) == 299 && memcmp(copy, text, 300) == 0 && strchr(copy, 'y') == NULL);
	CHECK(clock_gettime(CLOCK_MONOTONIC, &now) == 0 && now.tv_sec + now.tv_nsec > 0);
	for (int i = 0; i < 4; i++)
		MUST(pthread_create(&threads[i], NULL, runs, (void *)(intptr_t)i) == 0);
	for (int i = 0; i < 4; i++) {
		MUST(pthread_join(threads[i], &result) == 0);
		printf("thread %d: %d\n", i, (int)(intptr_t)result);
	}
	handle(SIGSEGV, faults, 0);
	if (!sigsetjmp(back, 1))
		*(volatile int *)(uintptr_t)(15 + argc) = 1;
	pid_t child = fork();
	if (child == 0)
		_exit(work(50) + local);
	printf("child: %d, local %d\n", ended(child), local);
	return done();
}
