/* What test_counters_live watches: it touches pages in known functions and prints the truth. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* Each toucher alone in a section of its own: the linker marks where it begins and ends. */
#define TOUCHER(name)                                                                         \
	__attribute__((noinline, section("code_" #name))) static void name(volatile char *at, \
									   size_t n)          \
	{                                                                                     \
		for (size_t i = 0; i < n; i++)                                                \
			at[4096 * i] = 1;                                                     \
	}                                                                                     \
	extern const char __start_code_##name[], __stop_code_##name[];
TOUCHER(touch_a)
TOUCHER(touch_b)

extern const char __ehdr_start[];

/* Fresh pages, each of which is faulted in alone. */
static void *map_pages(size_t n)
{
	void *memory =
		mmap(NULL, n * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		_exit(3);
	madvise(memory, n * 4096, MADV_NOHUGEPAGE);
	return memory;
}

static void touch(size_t n)
{
	touch_a(map_pages(3 * n), 3 * n);
	touch_b(map_pages(n), n);
}

static void *touch_in_thread(void *pages)
{
	touch(*(size_t *)pages);
	return NULL;
}

static void threads(size_t n)
{
	pthread_t thread[2];
	for (int i = 0; i < 2; i++)
		if (pthread_create(&thread[i], NULL, touch_in_thread, &n) != 0)
			_exit(4);
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
}

/* One child, and its child. */
static void children(size_t n)
{
	pid_t child = fork();
	if (child == 0) {
		pid_t grandchild = fork();
		touch(n);
		if (grandchild == 0)
			_exit(0);
		waitpid(grandchild, NULL, 0);
		_exit(0);
	}
	waitpid(child, NULL, 0);
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	const size_t n = strtoul(argv[2], NULL, 10);
	printf("%lx %lx %lx %lx\n", (unsigned long)(__start_code_touch_a - __ehdr_start),
	       (unsigned long)(__stop_code_touch_a - __ehdr_start),
	       (unsigned long)(__start_code_touch_b - __ehdr_start),
	       (unsigned long)(__stop_code_touch_b - __ehdr_start));
	fflush(stdout);
	if (strcmp(argv[1], "threads") == 0)
		threads(n);
	else if (strcmp(argv[1], "children") == 0)
		children(n);
	else
		touch(n);
	return 0;
}
