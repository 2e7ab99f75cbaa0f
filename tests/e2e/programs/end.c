/* Ends in the way that its arguments name. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static volatile int number;

static void *exit_process(void *unused)
{
	(void)unused;
	exit(number);
}

static void *end_last(void *unused)
{
	(void)unused;
	usleep(100000);
	printf("last thread\n");
	fflush(stdout);
	return NULL;
}

static int divide(volatile int *a, volatile int *b)
{
	return *a / *b;
}

int main(int argc, char **argv)
{
	const struct rlimit no_core = { 0, 0 };
	pthread_t thread;
	volatile int zero = 0;

	if (argc != 3)
		return 1;
	number = atoi(argv[2]);
	setrlimit(RLIMIT_CORE, &no_core);
	printf("ending: %s %s\n", argv[1], argv[2]);
	fflush(stdout);
	if (!strcmp(argv[1], "exit"))
		return number;
	if (!strcmp(argv[1], "kill"))
		kill(getpid(), number);
	if (!strcmp(argv[1], "fault"))
		*(volatile int *)(long)zero = 1;
	if (!strcmp(argv[1], "divide"))
		return divide(&number, &zero);
	if (!strcmp(argv[1], "illegal"))
		__builtin_trap();
	if (!strcmp(argv[1], "thread")) {
		pthread_create(&thread, NULL, exit_process, NULL);
		pthread_join(thread, NULL);
	}
	if (!strcmp(argv[1], "leave")) {
		pthread_create(&thread, NULL, end_last, NULL);
		pthread_exit(NULL);
	}
	sleep(5);
	return 99;
}
