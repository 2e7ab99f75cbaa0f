/* A process that shares the memory but is no thread; parent and child run at the same time.
 * @cases plain sighand files settid
 * @partly parent's memory */
#include "../own.h"

#include <sched.h>

static char stack[65536] __attribute__((aligned(16)));
static volatile int turn, rounds;
static int tid_of_child;

static int child(void *unused)
{
	(void)unused;
	for (int i = 0; i < 200; i++) {
		while (__atomic_load_n(&turn, __ATOMIC_ACQUIRE) != 1)
			sched_yield();
		rounds += work(50);
		__atomic_store_n(&turn, 0, __ATOMIC_RELEASE);
	}
	return 7;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	int flags = CLONE_VM | SIGCHLD;

	flags |= !strcmp(how, "sighand") ? CLONE_SIGHAND : !strcmp(how, "files") ? CLONE_FILES | CLONE_FS : 0;
	flags |= !strcmp(how, "settid") ? CLONE_PARENT_SETTID : 0;
	pid_t pid = clone(child, stack + sizeof(stack), flags, NULL, &tid_of_child);

	for (int i = 0; i < 200; i++) {
		__atomic_store_n(&turn, 1, __ATOMIC_RELEASE);
		while (__atomic_load_n(&turn, __ATOMIC_ACQUIRE))
			sched_yield();
	}
	CHECK(ended(pid) == 7);
	CHECK(rounds == 400);
	CHECK(strcmp(how, "settid") || tid_of_child == pid);
	return done();
}
