/* As many system calls as the argument says, none of which waits for anything, in a function of a known number of
 * instructions: 7 a turn and 3 more.  With a second argument a timer's signal comes each so many µs. */
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>

void many_calls(long n);
__asm__(".globl many_calls\n\t"
	".type many_calls, @function\n"
	"many_calls:\n\t"
	"mov %rdi, %r9\n\t"
	"nop\n"
	"1:\n\t"
	"mov $10, %eax\n\t" /* mprotect */
	"xor %edi, %edi\n\t"
	"xor %esi, %esi\n\t"
	"xor %edx, %edx\n\t"
	"syscall\n\t"
	"dec %r9\n\t"
	"jnz 1b\n\t"
	"ret\n\t"
	".size many_calls, .-many_calls");

static volatile int signals;

static void on_signal(int number)
{
	(void)number;
	signals++;
}

int main(int argc, char **argv)
{
	const long n = atol(argv[1]), us = argc > 2 ? atol(argv[2]) : 0;
	if (us) {
		const struct itimerval every = {{0, us}, {0, us}};
		struct sigaction action = {.sa_handler = on_signal};
		sigaction(SIGALRM, &action, NULL);
		setitimer(ITIMER_REAL, &every, NULL);
	}
	many_calls(n);
	return us && !signals;
}
