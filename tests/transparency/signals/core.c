/* Deaths with a core dump: the flag and the file.
 * @cores
 * @cases fault abort thread
 * @status fault: SIGSEGV
 * @status abort: SIGABRT
 * @status thread: SIGILL */
#include "../own.h"

#include <pthread.h>

static void *dies(void *unused)
{
	__builtin_trap();
	return unused;
}

int main(int argc, char **argv)
{
	const char *how = argv[argc - 1];
	pthread_t thread;

	printf("work %d\n", work(1000));
	fflush(stdout);
	if (!strcmp(how, "abort"))
		abort();
	if (!strcmp(how, "thread")) {
		pthread_create(&thread, NULL, dies, NULL);
		pthread_join(thread, NULL);
	}
	return *(volatile int *)8;
}
