/* What test_sampler watches: it burns CPU time in known functions and prints the truth. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Each burner alone in a section of its own: the linker marks where it begins and ends. */
#define BURNER(name)                                                             \
	__attribute__((noinline, section("code_" #name))) static void name(void) \
	{                                                                        \
		for (volatile unsigned i = 0; i < 200000; i++)                   \
			;                                                        \
	}                                                                        \
	extern const char __start_code_##name[], __stop_code_##name[];
BURNER(burn_a)
BURNER(burn_b)

extern const char __ehdr_start[];

static double cpu_seconds(clockid_t clock)
{
	struct timespec now;
	clock_gettime(clock, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void burn_for(double seconds)
{
	double start = cpu_seconds(CLOCK_THREAD_CPUTIME_ID);
	while (cpu_seconds(CLOCK_THREAD_CPUTIME_ID) - start < seconds)
		burn_a();
}

static void print_range(const char *start, const char *stop)
{
	printf("%lx %lx\n", (unsigned long)(start - __ehdr_start),
	       (unsigned long)(stop - __ehdr_start));
}

/* Three times as many calls of burn_a as of burn_b; prints the CPU seconds of each. */
static void shares(double seconds)
{
	double a = 0, b = 0;
	while (a + b < seconds) {
		double t0 = cpu_seconds(CLOCK_THREAD_CPUTIME_ID);
		for (int i = 0; i < 3; i++)
			burn_a();
		double t1 = cpu_seconds(CLOCK_THREAD_CPUTIME_ID);
		burn_b();
		a += t1 - t0;
		b += cpu_seconds(CLOCK_THREAD_CPUTIME_ID) - t1;
	}
	print_range(__start_code_burn_a, __stop_code_burn_a);
	print_range(__start_code_burn_b, __stop_code_burn_b);
	printf("%.9f %.9f\n", a, b);
}

static double thread_seconds;

static void *burn_thread(void *name)
{
	pthread_setname_np(pthread_self(), name);
	burn_for(thread_seconds);
	return NULL;
}

/* The last thread leaves through pthread_exit, and blocks every signal before. */
static void *burn_blocked(void *name)
{
	sigset_t all;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	pthread_exit(burn_thread(name));
}

static void threads(double seconds)
{
	static char *const names[] = {"first", "second", "blocked"};
	pthread_t ids[3];
	thread_seconds = seconds;
	for (int i = 0; i < 3; i++)
		pthread_create(&ids[i], NULL, i == 2 ? burn_blocked : burn_thread, names[i]);
	for (int i = 0; i < 3; i++)
		pthread_join(ids[i], NULL);
}

/* One child that goes on as it is, one that runs this program anew. */
static void children(const char *self, double seconds)
{
	char text[32];
	snprintf(text, sizeof(text), "%f", seconds);
	for (int i = 0; i < 2; i++) {
		pid_t pid = fork();
		if (pid == 0 && i == 0) {
			burn_for(seconds);
			_exit(0);
		}
		if (pid == 0)
			execl(self, self, "burn", text, (char *)NULL);
		printf("%d\n", (int)pid);
	}
	while (wait(NULL) > 0)
		;
}

static int n_handled;

static void handle(int number)
{
	n_handled++;
}

/* The program uses the real-time signal `number` itself. */
static void use_signal(int number)
{
	struct sigaction action = {.sa_handler = handle}, old;
	sigaction(number, NULL, &old);
	printf("%d\n", old.sa_handler == SIG_DFL);
	sigaction(number, &action, NULL);
	burn_for(0.1);
	raise(number);
	printf("%d\n", n_handled);
}

/* Calls that signals interrupt: counts what returned EINTR. */
static void interruptible(double seconds)
{
	int n_interrupted = 0;
	double start = cpu_seconds(CLOCK_THREAD_CPUTIME_ID);
	while (cpu_seconds(CLOCK_THREAD_CPUTIME_ID) - start < seconds) {
		struct timespec nap = {0, 20000};
		n_interrupted += nanosleep(&nap, NULL) != 0 && errno == EINTR;
		n_interrupted += poll(NULL, 0, 0) < 0 && errno == EINTR;
		for (int i = 0; i < 2; i++)
			burn_a();
	}
	printf("%d\n", n_interrupted);
}

int main(int argc, char **argv)
{
	double seconds = argc > 2 ? atof(argv[2]) : 0.2;
	const char *mode = argc > 1 ? argv[1] : "burn";
	if (strcmp(mode, "shares") == 0)
		shares(seconds);
	else if (strcmp(mode, "threads") == 0)
		threads(seconds);
	else if (strcmp(mode, "children") == 0)
		children(argv[0], seconds);
	else if (strcmp(mode, "delete") == 0 && unlink(argv[0]) == 0)
		shares(seconds);
	else if (strcmp(mode, "signal") == 0)
		use_signal((int)seconds);
	else if (strcmp(mode, "die") == 0)
		raise((int)seconds);
	else if (strcmp(mode, "interruptible") == 0)
		interruptible(seconds);
	else
		burn_for(seconds);
	return 0;
}
