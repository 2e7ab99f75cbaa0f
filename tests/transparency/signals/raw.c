/* A handler installed by the bare system call, with a restorer of our own. */
#include "../own.h"

struct kernel_action { void (*handler)(int, siginfo_t *, void *); unsigned long flags; void (*restorer)(void);
		       unsigned long mask; };

static volatile int handled;

extern void own_restorer(void);
__asm__("own_restorer: mov $15, %eax; syscall; ud2");

static void on_signal(int number, siginfo_t *info, void *context)
{
	(void)context;
	handled += number == SIGUSR1 && info->si_signo == SIGUSR1;
}

int main(void)
{
	struct kernel_action action = { on_signal, 0x04000000 | SA_SIGINFO, own_restorer, 0 }, old = { 0 };

	CHECK(syscall(SYS_rt_sigaction, SIGUSR1, &action, NULL, 8) == 0);
	for (int i = 0; i < 100; i++)
		raise(SIGUSR1);
	CHECK(syscall(SYS_rt_sigaction, SIGUSR1, NULL, &old, 8) == 0);
	CHECK(old.handler == on_signal && old.restorer == own_restorer);
	printf("handled %d\n", handled);
	return done();
}
