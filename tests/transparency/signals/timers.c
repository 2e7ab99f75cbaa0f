/* Timers at 10 kHz amid work whose results and registers must not change.
 * @libraries -lrt
 * @cases real virtual prof posix thread each_thread */
#include "../own.h"

#include <pthread.h>
#include <sys/time.h>
#include <time.h>

static volatile int enough = 300, ticks, wrong;
static _Thread_local volatile int own_ticks;

static void on_tick(int number, siginfo_t *info, void *context)
{
	volatile double x = 3;

	(void)number;
	(void)info;
	(void)context;
	x = x / 7;
	own_ticks++;
	__atomic_add_fetch(&ticks, 1, __ATOMIC_SEQ_CST);
}

static void notify(union sigval value)
{
	__atomic_add_fetch(&ticks, value.sival_int, __ATOMIC_SEQ_CST);
}

/* A sum by adc, with its carries, and a floating-point one; both have one right result. */
static void compute(volatile int *until)
{
	while (*until < enough) {
		uint64_t low = 0, high = 0;
		double x = 1;

		for (uint64_t i = 0; i < 2000; i++) {
			__asm__("add %2, %0; adc $0, %1" : "+r"(low), "+r"(high) : "r"(0xfedcba9876543210) : "cc");
			x = x * 1.0000001 + 1e-7;
		}
		if (high != 1991 || low != 0x1c71c71c71c71d00ULL || x < 1.0004 || x > 1.00041)
			wrong++;
	}
}

static timer_t timer_for(int notify_how, int tid)
{
	struct sigevent event = { .sigev_notify = notify_how, .sigev_signo = SIGRTMIN, .sigev_value.sival_int = 1 };
	const struct itimerspec every = { { 0, 100000 }, { 0, 100000 } };
	timer_t timer;

	event._sigev_un._tid = tid;
	if (notify_how == SIGEV_THREAD)
		event.sigev_notify_function = notify;
	MUST(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0 && timer_settime(timer, 0, &every, NULL) == 0);
	return timer;
}

static void *with_own_timer(void *unused)
{
	timer_t timer = timer_for(SIGEV_THREAD_ID, gettid());

	compute(&own_ticks);
	timer_delete(timer);
	return unused;
}

int main(int argc, char **argv)
{
	const char *how = argv[argc - 1];
	const int which = !strcmp(how, "real") ? ITIMER_REAL : !strcmp(how, "virtual") ? ITIMER_VIRTUAL : ITIMER_PROF;
	const struct itimerval every = { { 0, 100 }, { 0, 100 } }, never = { { 0, 0 }, { 0, 0 } };
	const int signals[] = { SIGALRM, SIGVTALRM, SIGPROF, SIGRTMIN };
	pthread_t threads[3];

	for (int i = 0; i < 4; i++)
		handle(signals[i], on_tick, SA_RESTART);
	if (!strcmp(how, "each_thread")) {
		for (int i = 0; i < 3; i++)
			pthread_create(&threads[i], NULL, with_own_timer, NULL);
		for (int i = 0; i < 3; i++)
			pthread_join(threads[i], NULL);
	} else if (!strcmp(how, "posix") || !strcmp(how, "thread")) {
		timer_t timer = timer_for(!strcmp(how, "posix") ? SIGEV_SIGNAL : SIGEV_THREAD, 0);

		compute(&ticks);
		timer_delete(timer);
	} else {
		enough = which == ITIMER_REAL ? enough : 50;	/* the others tick with the kernel's clock */
		setitimer(which, &every, NULL);
		compute(&ticks);
		setitimer(which, &never, NULL);
	}
	printf("ticks enough %d, wrong %d\n", ticks >= enough, wrong);
	return done();
}
