/* A signal has come when the program knows that it must have: behind the call that stops its timer, and behind
 * what its sender does next.  Once a timer is stopped, its signals may be given back to their default.
 * @libraries -lrt
 * @cases interval posix given_back sent */
#include "../own.h"

#include <sys/time.h>
#include <time.h>

enum { ROUNDS = 60, BURST = 3, PERIOD = 400, WORK = 120000 }; /* microseconds; turns, some periods long */

static volatile int arrived;

static void on_signal(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)info;
	(void)context;
	arrived++;
}

static void expect_no_more(int round)
{
	const int before = arrived;

	CHECK(work(20000 + round % 7 * 3000) == 2);
	CHECK(arrived == before);
}

static void interval(int given_back)
{
	const struct itimerval every = { { 0, PERIOD }, { 0, PERIOD } }, never = { { 0, 0 }, { 0, 0 } };

	for (int round = 0; round < ROUNDS; round++) {
		handle(SIGALRM, on_signal, 0);
		setitimer(ITIMER_REAL, &every, NULL);
		work(WORK);
		setitimer(ITIMER_REAL, &never, NULL);
		if (given_back)
			signal(SIGALRM, SIG_DFL);
		expect_no_more(round);
	}
}

static void posix_timers(void)
{
	const struct itimerspec every = { { 0, 1000 * PERIOD }, { 0, 1000 * PERIOD } }, never = { { 0, 0 }, { 0, 0 } };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
	timer_t timer;

	handle(SIGUSR1, on_signal, 0);
	for (int round = 0; round < ROUNDS; round++) {
		MUST(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
		timer_settime(timer, 0, &every, NULL);
		work(WORK);
		if (round % 2)
			timer_settime(timer, 0, &never, NULL);
		timer_delete(timer);
		expect_no_more(round);
	}
}

/* The parent sends signals that are queued, and then says so through a pipe. */
static void sent(void)
{
	int said[2], asked[2];

	MUST(pipe(said) == 0 && pipe(asked) == 0);
	const pid_t child = fork();

	if (child == 0) {
		handle(SIGRTMIN, on_signal, SA_RESTART);
		MUST(write(asked[1], "x", 1) == 1);
		for (int round = 1; round <= ROUNDS; round++) {
			char byte;
			work(round % 5 * 20000);
			MUST(read(said[0], &byte, 1) == 1);
			CHECK(arrived == BURST * round);
			MUST(write(asked[1], "x", 1) == 1);
		}
		_exit(failures != 0);
	}
	for (int round = 0; round < ROUNDS; round++) {
		char byte;
		MUST(read(asked[0], &byte, 1) == 1);
		for (int i = 0; i < BURST; i++)
			MUST(sigqueue(child, SIGRTMIN, (union sigval){ 0 }) == 0);
		MUST(write(said[1], "x", 1) == 1);
	}
	CHECK(ended(child) == 0);
	close(said[0]);
	close(said[1]);
	close(asked[0]);
	close(asked[1]);
}

int main(int argc, char **argv)
{
	const char *how = argv[argc - 1];

	if (!strcmp(how, "posix"))
		posix_timers();
	else if (!strcmp(how, "sent"))
		sent();
	else
		interval(!strcmp(how, "given_back"));
	return done();
}
