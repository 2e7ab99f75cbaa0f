/* clone3 from assembly: a thread whose registers are the parent's, and a forked process likewise.
 * @cases thread process */
#include "../own.h"

#include <linux/futex.h>
#include <linux/sched.h>
#include <sched.h>

static char stack[65536] __attribute__((aligned(16)));
static volatile uint32_t tid = 1;
volatile uint64_t seen;

/* The child adds up registers that it has from its parent, stores the sum and ends. */
static long clone3_sum(struct clone_args *arguments)
{
	long result;
	register uint64_t r12 __asm__("r12") = 100, r13 __asm__("r13") = 20, r14 __asm__("r14") = 3;

	__asm__ volatile("syscall\n\t"
			 "test %%rax, %%rax\n\t"
			 "jnz 1f\n\t"
			 "add %%r13, %%r12\n\tadd %%r14, %%r12\n\t"
			 "mov %%r12, seen(%%rip)\n\t"
			 "xor %%edi, %%edi\n\tcmp $123, %%r12\n\tsetne %%dil\n\t"
			 "mov $60, %%eax\n\tsyscall\n"
			 "1:"
			 : "=a"(result), "+r"(r12), "+r"(r13), "+r"(r14)
			 : "a"(SYS_clone3), "D"(arguments), "S"(sizeof(*arguments))
			 : "rcx", "r11", "memory");
	CHECK(r12 == 100 && r13 == 20 && r14 == 3);
	return result;
}

int main(int argc, char **argv)
{
	struct clone_args arguments = { .flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
						 CLONE_CHILD_CLEARTID,
					.child_tid = (uint64_t)&tid,
					.stack = (uint64_t)stack,
					.stack_size = sizeof(stack) };
	(void)argc;
	if (!strcmp(argv[1], "process")) {
		arguments = (struct clone_args){ .exit_signal = SIGCHLD };
		CHECK(ended((pid_t)clone3_sum(&arguments)) == 0);
		return done();
	}
	for (int i = 0; i < 20; i++) {
		tid = 1;
		MUST(clone3_sum(&arguments) > 0);
		while (tid)
			syscall(SYS_futex, &tid, FUTEX_WAIT, 1, NULL);
		CHECK(seen == 123);
	}
	return done();
}
