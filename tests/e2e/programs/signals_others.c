/* signals_others parent: sends its parent every signal that can be caught, two of them by sigqueue.
 * signals_others group NUMBER: sends one to its process group, and says if it lives on.
 * signals_others handled NUMBER: the same, with a handler.
 * signals_others self NUMBER: sends it to itself alone.
 * signals_others stop: says so, stops its job as an editor does, and goes on when it is continued. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KERNEL_RTMIN 32 /* glibc keeps two for itself */

static volatile sig_atomic_t caught;

static void handler(int number)
{
	caught = number;
}

static double work(void)
{
	volatile double x = 1;

	for (int i = 0; i < 1000000; i++)
		x = x * 0.5 + 1;
	return x;
}

static int to_parent(void)
{
	for (int number = 1; number <= SIGRTMAX; number++) {
		if (number == SIGKILL || number == SIGSTOP || (number > SIGSYS && number < KERNEL_RTMIN))
			continue;
		if (number == SIGUSR1 || number == SIGRTMAX)
			sigqueue(getppid(), number, (union sigval){0});
		else
			kill(getppid(), number);
	}
	return 0;
}

int main(int argc, char **argv)
{
	const int number = argc > 2 ? atoi(argv[2]) : 0;

	printf("%s, ", argv[1]);
	fflush(stdout);
	if (!strcmp(argv[1], "parent")) {
		to_parent();
	} else if (!strcmp(argv[1], "stop")) {
		printf("it stops\n");
		fflush(stdout);
		kill(0, SIGTSTP);
		printf("it went on\n");
	} else {
		if (!strcmp(argv[1], "handled"))
			signal(number, handler);
		kill(strcmp(argv[1], "self") ? 0 : getpid(), number);
	}
	printf("worked %.0f, caught %d\n", work(), (int)caught);
	return 0;
}
