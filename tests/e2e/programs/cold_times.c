/* Follows a chain of lines through memory, CHAIN lines at random, each call once, and another chain each time: what
 * a processor learns of one is of no use.  Usage: cold_times HOW CALLS [FILE].
 *
 * HOW: calls: nothing else.  flush (with clflush) and flushopt (with clflushopt): it flushes its lines itself before each call, waits for a child, as a thread is stopped
 * and goes on elsewhere, and writes the mean of the calls' times in s to standard error.  nested: the kernel calls itself.  threads: each call by a thread of its own.
 * left: calls are left by longjmp.  exec: it executes itself anew in the end.  signals: a timer's signals come
 * meanwhile, and it is stopped and goes on.  blocked: with all signals blocked.  FILE gets its number, and "done" at
 * the end. */
#include <immintrin.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define KERNEL __attribute__((noinline, noclone))

enum { CHAIN = 8192 };

struct line {
	struct line *next;
	char rest[56];
};

static struct line lines[CHAIN] __attribute__((aligned(4096)));
static int nested, left;
static jmp_buf out;
static volatile sig_atomic_t n_signals;

KERNEL struct line *kernel_chase(struct line *from, int depth)
{
	for (int i = 0; i < CHAIN; i++)
		from = from->next;
	if (depth)
		from = kernel_chase(from, depth - 1);
	if (left)
		longjmp(out, 1);
	return from;
}

static double now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void *call(void *unused)
{
	(void)unused;
	return kernel_chase(lines, nested);
}

static void on_alarm(int number)
{
	n_signals += number == SIGALRM;
}

static void make_chain(void)
{
	static int order[CHAIN];
	static unsigned random = 1;
	for (int i = 0; i < CHAIN; i++)
		order[i] = i;
	for (int i = CHAIN - 1; i > 0; i--) {
		random = random * 1664525 + 1013904223;
		const int k = (int)(random >> 8) % i, other = order[k];
		order[k] = order[i];
		order[i] = other;
	}
	for (int i = 0; i < CHAIN; i++)
		lines[order[i]].next = &lines[order[(i + 1) % CHAIN]];
}

static void call_in_thread(void)
{
	pthread_t thread;
	void *result;
	if (pthread_create(&thread, NULL, call, NULL) || pthread_join(thread, &result) ||
	    result != lines)
		exit(1);
}

static void call_and_jump(void)
{
	if (!setjmp(out))
		(void)kernel_chase(lines, 0);
}

/* A child stops it, and lets it go on. */
static void be_stopped(void)
{
	const pid_t child = fork();
	if (!child) {
		kill(getppid(), SIGSTOP);
		usleep(20000);
		kill(getppid(), SIGCONT);
		_exit(0);
	}
	waitpid(child, NULL, 0);
}

/* Another process runs, and this one is switched from and to. */
static void pause_shortly(void)
{
	const pid_t child = fork();
	if (!child)
		_exit(0);
	waitpid(child, NULL, 0);
}

__attribute__((target("clflushopt"))) static void flush(const char *how)
{
	const int by_opt = !strcmp(how, "flushopt"), flushes = by_opt || !strcmp(how, "flush");
	for (int k = 0; flushes && k < CHAIN; k++)
		if (by_opt)
			_mm_clflushopt(&lines[k]);
		else
			_mm_clflush(&lines[k]);
	_mm_mfence();
	if (flushes)
		pause_shortly();
}

static void tell(const char *file, const char *text)
{
	FILE *out = file ? fopen(file, "a") : NULL;
	if (!out)
		return;
	fprintf(out, "%s\n", text);
	fclose(out);
}

static void prepare(const char *how)
{
	nested = strcmp(how, "nested") ? 0 : 3;
	left = !strcmp(how, "left");
	if (!strcmp(how, "signals")) {
		signal(SIGALRM, on_alarm);
		setitimer(ITIMER_REAL, &(struct itimerval){{0, 2000}, {0, 2000}}, NULL);
	}
	sigset_t all;
	sigfillset(&all);
	if (!strcmp(how, "blocked"))
		sigprocmask(SIG_SETMASK, &all, NULL);
}

static void call_as(const char *how)
{
	if (!strcmp(how, "threads"))
		call_in_thread();
	else if (left)
		call_and_jump();
	else if (call(NULL) != lines)
		exit(1);
}

static int blocked_signals(void)
{
	sigset_t now_blocked;
	int n = 0;
	sigprocmask(SIG_SETMASK, NULL, &now_blocked);
	for (int i = 1; i < NSIG; i++)
		n += sigismember(&now_blocked, i) == 1;
	return n;
}

int main(int argc, char **argv)
{
	const char *how = argv[1], *file = argc > 3 ? argv[3] : NULL;
	const int calls = argc > 2 ? atoi(argv[2]) : 0;
	char number[32];
	double sum = 0;
	snprintf(number, sizeof(number), "%d", (int)getpid());
	tell(file, number);
	prepare(how);
	for (int i = 0; i < calls; i++) {
		make_chain();
		flush(how);
		const double begin = now();
		call_as(how);
		sum += now() - begin;
		if (!strcmp(how, "signals") && i == calls / 2)
			be_stopped();
	}
	if (!strncmp(how, "flush", 5))
		fprintf(stderr, "mean %.9f\n", sum / calls);
	if (!strcmp(how, "exec"))
		execl("/proc/self/exe", argv[0], "calls", argv[2], NULL);
	if (!strcmp(how, "signals"))
		printf("%s\n", n_signals > 2 ? "signals came" : "no signals");
	tell(file, "done");
	printf("%d signals are blocked\n", blocked_signals());
	return 0;
}
