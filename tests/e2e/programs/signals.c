/* Signal handlers of every sort; each part says what it saw. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

extern char __executable_start, etext;

static volatile sig_atomic_t ticks, received, bad, nested;
static char *alternate;
static sigjmp_buf out;

static void install(int number, void *handler, int flags)
{
	struct sigaction action = { .sa_flags = flags };

	if (flags & SA_SIGINFO)
		action.sa_sigaction = (void (*)(int, siginfo_t *, void *))(intptr_t)handler;
	else
		action.sa_handler = (void (*)(int))(intptr_t)handler;
	if (sigaction(number, &action, NULL))
		exit(1);
}

static void on_tick(int number)
{
	ticks += number == SIGALRM;
}

/* A timer fires amid floating-point work, whose result must not change. */
static void timer(void)
{
	const struct itimerval every = { { 0, 2000 }, { 0, 2000 } }, never = { { 0, 0 }, { 0, 0 } };
	double expected = 0, x;
	int rounds = 0, wrong = 0;

	install(SIGALRM, on_tick, SA_RESTART);
	setitimer(ITIMER_REAL, &every, NULL);
	while (ticks < 50) {
		x = 1;
		for (int i = 0; i < 20000; i++)
			x = x * 1.0000001 + 1e-7;
		expected = rounds++ ? expected : x;
		wrong += x != expected;
	}
	setitimer(ITIMER_REAL, &never, NULL);
	printf("timer: %d wrong results\n", wrong);
}

static void on_info(int number, siginfo_t *info, void *context)
{
	(void)context;
	bad += info->si_signo != number || info->si_pid != getpid();
	received++;
}

static void to_itself(void)
{
	install(SIGUSR1, on_info, SA_SIGINFO);
	for (int i = 0; i < 100; i++)
		kill(getpid(), SIGUSR1);
	for (int i = 0; i < 100; i++)
		raise(SIGUSR1);
	printf("to itself: %d, %d bad\n", received, bad);
}

static void on_alternate(int number)
{
	char here;

	(void)number;
	bad += &here < alternate || &here >= alternate + 65536;
}

static void alternate_stack(void)
{
	alternate = malloc(65536);
	sigaltstack(&(stack_t){ .ss_sp = alternate, .ss_size = 65536 }, NULL);
	install(SIGUSR2, on_alternate, SA_ONSTACK);
	raise(SIGUSR2);
	printf("alternate stack: %d bad\n", bad);
}

__attribute__((noinline)) static int load(const volatile int *address)
{
	return *address;
}

static void on_fault(int number, siginfo_t *info, void *context)
{
	const ucontext_t *state = context;
	const char *pc = (char *)(intptr_t)state->uc_mcontext.gregs[REG_RIP];

	bad += number != SIGSEGV || info->si_addr != (void *)0x10 || pc < &__executable_start || pc >= &etext;
	/* The load's address is in the register of its argument still. */
	bad += state->uc_mcontext.gregs[REG_RDI] != 0x10;
	siglongjmp(out, 1);
}

static void faults(void)
{
	volatile int caught = 0;

	install(SIGSEGV, on_fault, SA_SIGINFO);
	for (volatile int i = 0; i < 50; i++) {
		if (sigsetjmp(out, 1))
			caught++;
		else
			load((int *)0x10);
	}
	printf("faults: %d caught, %d bad\n", caught, bad);
	signal(SIGSEGV, SIG_DFL);
}

/* The handler repairs what faulted and returns into the same instruction. */
static char *guarded;

static void on_guarded(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)context;
	bad += (char *)info->si_addr < guarded || (char *)info->si_addr >= guarded + 4096;
	mprotect(guarded, 4096, PROT_READ | PROT_WRITE);
	received++;
}

static void repaired_faults(void)
{
	received = 0;
	guarded = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	install(SIGSEGV, on_guarded, SA_SIGINFO);
	for (int i = 0; i < 20; i++) {
		guarded[i] = (char)i;
		mprotect(guarded, 4096, PROT_NONE);
	}
	printf("repaired faults: %d, last %d, %d bad\n", received, load((int *)(guarded + 16)) & 0xff, bad);
	signal(SIGSEGV, SIG_DFL);
}

/* The handler skips the trap by moving the saved instruction pointer. */
static void on_trap(int number, siginfo_t *info, void *context)
{
	ucontext_t *state = context;

	(void)number;
	(void)info;
	state->uc_mcontext.gregs[REG_RIP] += 2;	/* ud2 */
	state->uc_mcontext.gregs[REG_RBX] += 5;
	received++;
}

static void moved_pc(void)
{
	uint64_t value = 1;

	received = 0;
	install(SIGILL, on_trap, SA_SIGINFO);
	for (int i = 0; i < 20; i++)
		__asm__ volatile("ud2; add $1, %0" : "+b"(value));
	printf("moved pc: %d traps, value %llu\n", received, (unsigned long long)value);
}

static void on_outer(int number)
{
	(void)number;
	nested = nested * 10 + 1;
	raise(SIGUSR2);
	nested = nested * 10 + 3;
}

static void on_inner(int number)
{
	(void)number;
	nested = nested * 10 + 2;
}

static void handlers_nest(void)
{
	install(SIGUSR1, on_outer, 0);
	install(SIGUSR2, on_inner, 0);
	raise(SIGUSR1);
	printf("nested: %d\n", nested);
}

static void blocked(void)
{
	sigset_t set, pending;
	siginfo_t info = { 0 };

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	nested = 0;
	kill(getpid(), SIGUSR1);
	sigpending(&pending);
	printf("blocked: pending %d, nested %d", sigismember(&pending, SIGUSR1), nested);
	sigwaitinfo(&set, &info);
	printf(", taken %d\n", info.si_signo == SIGUSR1);
	sigqueue(getpid(), SIGUSR1, (union sigval){ .sival_int = 77 });
	sigwaitinfo(&set, &info);
	printf("queued: %d\n", info.si_value.sival_int);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

/* A read that a signal interrupts, with and without SA_RESTART.  The timer goes on: on a busy machine its first
 * signal can come before the read. */
static void interrupted(void)
{
	int pipes[2];
	char byte = 0;
	const struct itimerval every = { { 0, 20000 }, { 0, 20000 } }, never = { { 0, 0 }, { 0, 0 } };

	if (pipe(pipes))
		exit(1);
	install(SIGALRM, on_tick, 0);
	setitimer(ITIMER_REAL, &every, NULL);
	long n = read(pipes[0], &byte, 1);
	const int error = errno;

	setitimer(ITIMER_REAL, &never, NULL);
	printf("interrupted: %ld %s\n", n, n < 0 && error == EINTR ? "EINTR" : "?");
	install(SIGALRM, on_tick, SA_RESTART);
	if (fork() == 0) {
		usleep(100000);
		_exit(write(pipes[1], "x", 1) != 1);
	}
	setitimer(ITIMER_REAL, &every, NULL);
	n = read(pipes[0], &byte, 1);
	setitimer(ITIMER_REAL, &never, NULL);
	printf("restarted: %ld %c\n", n, byte);
	wait(NULL);
}

static void once_only(void)
{
	struct sigaction now;

	install(SIGUSR1, on_inner, SA_RESETHAND);
	raise(SIGUSR1);
	sigaction(SIGUSR1, NULL, &now);
	printf("reset: %d\n", now.sa_handler == SIG_DFL);
}

int main(void)
{
	setvbuf(stdout, NULL, _IONBF, 0);
	timer();
	to_itself();
	alternate_stack();
	faults();
	repaired_faults();
	moved_pc();
	handlers_nest();
	blocked();
	interrupted();
	once_only();
	return bad != 0;
}
