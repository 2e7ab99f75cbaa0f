/* The whole process ends while its threads compute, in several ways.
 * @cases exit_group exit_in_thread quick_exit abort fault return
 * @status exit_group: 3
 * @status exit_in_thread: 4
 * @status quick_exit: 5
 * @status abort: SIGABRT
 * @status fault: SIGSEGV
 * @status return: 6 */
#include "../own.h"

#include <pthread.h>

static pthread_barrier_t barrier;

static void *compute(void *unused)
{
	pthread_barrier_wait(&barrier);
	for (;;)
		work(1000);
	return unused;
}

static void at_quick_exit_(void)
{
	dprintf(1, "quick\n");
}

static void *end(void *argument)
{
	const char *how = argument;

	work(20000);
	at_quick_exit(at_quick_exit_);
	if (!strcmp(how, "exit_group"))
		syscall(SYS_exit_group, 3);
	if (!strcmp(how, "exit_in_thread"))
		exit(4);
	if (!strcmp(how, "quick_exit"))
		quick_exit(5);
	if (!strcmp(how, "abort"))
		abort();
	if (!strcmp(how, "fault"))
		*(volatile int *)argument = *(volatile int *)16;
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	(void)argc;
	pthread_barrier_init(&barrier, NULL, 5);
	for (int i = 0; i < 4; i++)
		MUST(pthread_create(&thread, NULL, compute, NULL) == 0);
	pthread_barrier_wait(&barrier);
	MUST(pthread_create(&thread, NULL, end, argv[1]) == 0);
	pthread_join(thread, NULL);
	return 6;
}
