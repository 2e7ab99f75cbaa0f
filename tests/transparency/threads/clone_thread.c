/* A thread made by the bare system call: no library, its own stack, the kernel clears its number. */
#include "../own.h"

#include <linux/futex.h>
#include <sched.h>

static char stack[65536] __attribute__((aligned(16)));
static volatile int tid = -1, seen;

static int child(void *argument)
{
	seen = *(int *)argument + work(1000);
	return 0;
}

int main(void)
{
	int number = 40;

	for (int i = 0; i < 50; i++) {
		tid = -1;
		MUST(clone(child, stack + sizeof(stack),
			   CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
				   CLONE_CHILD_CLEARTID,
			   &number, NULL, NULL, &tid) > 0);
		while (tid)
			syscall(SYS_futex, &tid, FUTEX_WAIT, -1, NULL);
		CHECK(seen == 42);
		seen = 0;
	}
	return done();
}
