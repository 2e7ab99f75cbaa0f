/* siglongjmp and setcontext out of handlers: nested ones, faults amid work, thousands of times.
 * @cases fault nested alarm context */
#include "../own.h"

#include <setjmp.h>
#include <sys/time.h>

static sigjmp_buf out, outer;
static ucontext_t back;
static volatile int jumps, wrong;
static const char *how;

static void on_signal(int number, siginfo_t *info, void *context)
{
	(void)info;
	(void)context;
	jumps++;
	if (!strcmp(how, "nested") && number == SIGUSR1)
		raise(SIGUSR2);
	if (!strcmp(how, "nested"))
		siglongjmp(number == SIGUSR2 ? outer : out, 1);
	if (!strcmp(how, "context"))
		setcontext(&back);
	siglongjmp(out, 1);
}

static void alarms(void)
{
	const struct itimerval every = { { 0, 300 }, { 0, 300 } }, never = { { 0, 0 }, { 0, 0 } };

	if (sigsetjmp(out, 1) == 0)
		setitimer(ITIMER_REAL, &every, NULL);
	while (jumps < 100)
		wrong += work(300) != 2;
	setitimer(ITIMER_REAL, &never, NULL);
	jumps = 100;
}

int main(int argc, char **argv)
{
	how = argv[argc - 1];
	handle(SIGSEGV, on_signal, 0);
	handle(SIGUSR1, on_signal, 0);
	handle(SIGUSR2, on_signal, 0);
	handle(SIGALRM, on_signal, 0);
	if (!strcmp(how, "alarm")) {
		alarms();
	} else if (!strcmp(how, "context")) {
		getcontext(&back);
		if (jumps < 100)
			*(volatile int *)8 = 1;
	} else {
		for (volatile int i = 0; i < 500; i++)
			if (sigsetjmp(outer, 1) == 0 && sigsetjmp(out, 1) == 0) {
				if (!strcmp(how, "fault"))
					*(volatile int *)8 = 1;
				raise(SIGUSR1);
			}
	}
	printf("jumps %d, wrong %d\n", jumps, wrong);
	return done();
}
