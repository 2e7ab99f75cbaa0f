/* signals_kept NUMBER: a child sends 3000 times the signal, one of those that glibc keeps for itself; they are
 * queued, and each is caught. */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define N 3000

static volatile sig_atomic_t caught;

static void handler(int number)
{
	caught++;
}

__attribute__((naked, used)) static void restorer(void)
{
	__asm__("mov $15, %eax\n\tsyscall");
}

int main(int argc, char **argv)
{
	const struct {
		void (*handler)(int);
		uint64_t flags;
		void (*restorer)(void);
		uint64_t mask;
	} action = {handler, SA_RESTART | 0x04000000, restorer, 0};
	const int number = argc > 1 ? atoi(argv[1]) : 32;
	volatile double x = 1;
	pid_t child;

	if (syscall(SYS_rt_sigaction, number, &action, NULL, 8) != 0)
		return 2;
	child = fork();
	if (child == 0) {
		for (int i = 0; i < N; i++)
			sigqueue(getppid(), number, (union sigval){0});
		_exit(0);
	}
	while (caught < N && x < 1e12)
		x += 1;
	waitpid(child, NULL, 0);
	printf("caught %d\n", (int)caught);
	return 0;
}
