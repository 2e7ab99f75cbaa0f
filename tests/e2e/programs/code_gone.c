/* Calls a function of a library whose address has 16 low bits of 0 until it is hot, and unloads the library; only then a
 * thread that has waited all the while goes on. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static int wakes[2];

__attribute__((noinline)) static long turn(long x)
{
	return x * 3 + 1;
}

static void *wait_and_go(void *nothing)
{
	char byte;
	long x = 1;
	if (read(wakes[0], &byte, 1) != 1)
		return NULL;
	for (volatile long i = 0; i < 100000; i++)
		x = turn(x);
	printf("the other thread went on to %s\n", x ? "its end" : "nothing");
	return nothing;
}

static double seconds(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
	int (*next)(int) = library ? (int (*)(int))(intptr_t)dlsym(library, "next_number") : NULL;
	if (!next || (uintptr_t)next % 65536 || pipe(wakes) != 0 || pthread_create(&thread, NULL, wait_and_go, NULL) != 0)
		return 1;
	const double end = seconds() + 1;
	int x = 0;
	while (seconds() < end)
		for (int i = 0; i < 10000; i++)
			x = next(x) & 0xffff;
	dlclose(library);
	if (x < 0 || write(wakes[1], "", 1) != 1)
		return 1;
	pthread_join(thread, NULL);
	return 0;
}
