/* The kernel hands on a robust mutex whose owner has ended: a thread, a process.
 * @cases thread process killed */
#include "../own.h"

#include <pthread.h>

static void *dies_with_it(void *mutex)
{
	pthread_mutex_lock(mutex);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_mutexattr_t attributes;
	pthread_mutex_t *mutex = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_t thread;
	pid_t pid;

	(void)argc;
	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
	pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(mutex, &attributes);
	if (!strcmp(argv[1], "thread")) {
		pthread_create(&thread, NULL, dies_with_it, mutex);
		pthread_join(thread, NULL);
	} else if ((pid = fork()) == 0) {
		pthread_mutex_lock(mutex);
		if (!strcmp(argv[1], "killed"))
			raise(SIGKILL);
		_exit(0);
	} else {
		ended(pid);
	}
	CHECK(pthread_mutex_lock(mutex) == EOWNERDEAD);
	CHECK(pthread_mutex_consistent(mutex) == 0);
	CHECK(pthread_mutex_unlock(mutex) == 0);
	return done();
}
