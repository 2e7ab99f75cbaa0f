/* A bare thread with thread-local storage of its own: FS is what its maker wanted. */
#include "../own.h"

#include <linux/futex.h>
#include <sched.h>

static char stack[65536] __attribute__((aligned(16)));
static struct { void *self; uint64_t value[15]; } block;
static volatile int tid = -1;
static volatile uint64_t base, value;
static int parent_tid;

static int child(void *unused)
{
	__asm__ volatile("mov %%fs:0, %0; mov %%fs:8, %1" : "=r"(base), "=r"(value));
	for (int i = 0; i < 1000; i++)
		__asm__ volatile("incq %%fs:16" : : : "memory");
	__asm__ volatile("xor %%edi, %%edi; mov $60, %%eax; syscall" : : "r"(unused) : "rax", "rdi", "rcx", "r11");
	return 0;
}

int main(void)
{
	block.self = &block;
	block.value[0] = 4711;
	pid_t pid = clone(child, stack + sizeof(stack),
			  CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SETTLS |
				  CLONE_CHILD_CLEARTID | CLONE_PARENT_SETTID,
			  NULL, &parent_tid, &block, &tid);

	MUST(pid > 0);
	while (tid)
		syscall(SYS_futex, &tid, FUTEX_WAIT, -1, NULL);
	CHECK(parent_tid == pid);
	CHECK(base == (uint64_t)&block && value == 4711);
	CHECK(block.value[1] == 1000);
	return done();
}
